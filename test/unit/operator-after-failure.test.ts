/** The next step that `explain` names after each failure. */
import '../../src/compose/capabilities.ts'
import t from 'tap'
import { afterFailure } from '../../src/operator/explain/after-failure.ts'
import type { KnownTransaction } from '../../src/transactions/state.ts'
import { matchExactly } from '../support/match-exactly.ts'

const SWAP = { amountType: 'exact_input', approvalTransactionId: 'tx_approval' }

function after(transaction: object) {
  return afterFailure({ type: 'SWAP', inclusion: null, ...transaction } as unknown as KnownTransaction)
}

const failure = (code: string, message: string, swap: object | undefined = SWAP) => ({
  failure: { code, message },
  intent: { dependsOn: 'tx_approval', ...(swap === undefined ? {} : { swap }) },
})

t.test('a failed swap names the code of the API, what it cost, and the next step', (t) => {
  const mined = { inclusion: { succeeded: false }, state: 'reverted' }
  matchExactly(t, after({ ...failure('execution_reverted', 'Too little received'), ...mined }), {
    says: 'It ended with slippage_exceeded: Too little received. Its gas was paid, and nothing else changed on chain.',
    next: [{ say: /new quote/ }, { say: /new Idempotency-Key/ }],
  })
  matchExactly(t, after({ ...failure('execution_reverted', 'Transaction too old'), ...mined }).next, [
    { say: /deadline_seconds/ },
    {},
  ])
  matchExactly(t, after(failure('execution_reverted', 'STF')).next, [
    { say: /could not take the token/, run: 'npm run bursar -- explain tx_approval' },
    {},
  ])
  matchExactly(t, after(failure('dependency_failed', 'It depends on tx_approval, which ended as failed.')), {
    says: 'It ended with dependency_failed: It depends on tx_approval, which ended as failed.',
    next: [{ run: 'npm run bursar -- explain tx_approval' }, {}],
  })
  matchExactly(t, after(failure('expired', 'It was valid until then.')).next, [{ say: /new quote/ }, {}])
  t.end()
})

t.test('a failed call says how to see its error, and other failures have the general step', (t) => {
  const call = { type: 'CONTRACT', ...failure('execution_reverted', 'Refused()', undefined) }
  matchExactly(t, after(call).next, [{ say: /mode simulate/ }, {}])
  matchExactly(t, after({ ...call, intent: {}, failure: { code: 'expired', message: 'x' } }).next, [
    { say: /valid_until/ },
    {},
  ])
  const transfer = { type: 'TRANSFER', intent: { dependsOn: null } }
  for (const code of ['execution_reverted', 'insufficient_funds', 'dependency_failed'])
    t.equal(after({ ...transfer, failure: { code, message: 'x' } }).next.length, 1, code)
  t.strictSame(after({ ...transfer, state: 'failed', failure: null }).says, 'It ended: failed')
  t.end()
})
