/** What signed bytes need after a fork, and when theirs is enough. */
import t from 'tap'
import { createCodeLookup } from '../../src/chain/code.ts'
import { createExistsFinally } from '../../src/chain/existence.ts'
import { createForkWatch } from '../../src/chain/fork-watch.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { createEstimateGas } from '../../src/transactions/estimate-gas.ts'
import { createNeededGas, lackGas } from '../../src/transactions/gas-budget.ts'
import { createPlainGas } from '../../src/transactions/plain-gas.ts'
import { createForkNode } from '../support/fork-node.ts'
import { oneNode } from '../support/one-node.ts'
import { cancellation, fold, replaced, requested, signed } from '../support/recorded-transactions.ts'

const { to } = requested.data
const log = { info: () => undefined, warn: () => undefined }

function stage(node: ReturnType<typeof createForkNode>) {
  const now = () => performance.now()
  const forks = createForkWatch({ client: node, chain: { network: 'ethereum', environment: 'testnet' }, now, log })
  const plainGas = createPlainGas({ agreed: node, forks, exists: createExistsFinally(node) })
  const neededGas = createNeededGas({
    forks,
    estimateGas: createEstimateGas(oneNode(node), createCodeLookup({ client: node, now }), plainGas),
  })
  return async (...events: readonly TransactionEvent[]) => {
    const state = fold(events)
    if (state.state === 'unknown') throw new Error('the transaction is unknown')
    return neededGas(state)
  }
}

t.test(
  'a plain transfer with 21,000 gas lacks the account of its recipient since Amsterdam, and before no call is made',
  async (t) => {
    const node = createForkNode('osaka')
    const neededGas = stage(node)
    t.equal(await neededGas(requested, signed), null)
    t.equal(node.asked.get('eth_estimateGas'), 1, 'the probe of the fork')
    t.equal(await stage(createForkNode('amsterdam'))(requested, signed), 207_391n)
  },
)

t.test('bytes that have enough, that are cancelled, or that nobody can judge, need nothing', async (t) => {
  const node = createForkNode('amsterdam')
  const neededGas = stage(node)
  const raised = { ...replaced, data: { ...replaced.data, fees: { ...replaced.data.fees, gasLimit: 204_600n } } }
  t.equal(await neededGas(requested, signed, raised as TransactionEvent), null, 'a few gas more are no reason')
  const cancelled = { ...replaced, data: { ...replaced.data, purpose: 'cancel' } }
  t.equal(await neededGas(requested, signed, cancellation, cancelled as TransactionEvent), null)
  t.equal(await neededGas(requested), null, 'it is not signed')
  const call = { ...requested, data: { ...requested.data, data: '0x12345678' } } as TransactionEvent
  node.code.set(to.toLowerCase(), '0x6001')
  node.refusesFrom.add(requested.data.from)
  t.equal(await neededGas(call, signed), null, 'its simulation fails')
})

t.test('under rules that nobody here knows no bytes are replaced for a guess', async (t) => {
  t.equal(await stage(createForkNode('later'))(requested, signed), null)
})

t.test('an account that exists needs what it always did', async (t) => {
  const node = createForkNode('amsterdam')
  node.existing.add(to.toLowerCase())
  t.equal(await stage(node)(requested, signed), null)
})

t.test('a call needs its estimate with a margin, if it has less than the estimate', async (t) => {
  const node = createForkNode('amsterdam')
  const neededGas = stage(node)
  const call = { ...requested, data: { ...requested.data, data: '0x12345678' } } as TransactionEvent
  node.estimates.set(to, 100_000n)
  t.equal(await neededGas(call, signed), 120_000n)
  node.estimates.set(to, 21_000n)
  t.equal(await neededGas(call, signed), null)
  node.estimates.set(to, 900_000n)
  t.equal(await neededGas(call, signed), null, 'more than it may have')
})

t.test('before they are sent, only bytes from before the fork are looked at, and fresh ones ask nobody', async (t) => {
  const transaction = fold([requested, signed])
  if (transaction.state === 'unknown') throw new Error('the transaction is unknown')
  const signedMs = Date.parse(signed.data.signedAt)
  const lacks = async (since: string | null, ageMs = 60_000) => {
    const asked: string[] = []
    const forks = {
      fork: async () => 'amsterdam' as const,
      async status() {
        asked.push('fork')
        return { since } as never
      },
    }
    const neededGas = async () => {
      asked.push('gas')
      return 207_391n
    }
    return [...(await lackGas({ forks, now: () => signedMs + ageMs, neededGas }, [transaction])), ...asked]
  }
  const after = new Date(signedMs + 1).toISOString()
  t.strictSame(await lacks(after), [true, 'fork', 'gas'])
  t.strictSame(await lacks(after, 19_999), [false])
  t.strictSame(await lacks(signed.data.signedAt), [false, 'fork'])
  t.strictSame(await lacks(null), [false, 'fork'], 'a node that does not say when its fork began')
})
