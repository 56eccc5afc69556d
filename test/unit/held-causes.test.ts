/** `stuck` names what a lane waits for, whatever it is: every cause that the code knows is reported with its text. */
import t from 'tap'
import { HELD_CAUSES, type HeldCause, type HeldCauseOf, heldNext, heldText } from '../../src/transactions/held-cause.ts'
import { lane, unsigned } from '../support/operator-facts.ts'

const SEEN = { hash: '0xab', nonce: 7, transactionId: 'tx_1' }

/** One of each kind. A cause that is missing here does not compile. */
const CAUSES: { readonly [K in HeldCause['kind']]: HeldCauseOf<K> } = {
  log_refused: { kind: 'log_refused', reason: 'the log has 3 events, but the auditor has signed 4' },
  not_walked: { kind: 'not_walked', until: 9, next: 8, cursor: 100 },
  too_few_nodes: { kind: 'too_few_nodes', answered: 1, nodes: 2, needed: 2 },
  count_doubted: { kind: 'count_doubted', hosts: ['a.test:8545'], count: 209, explained: 9 },
  no_tag: { kind: 'no_tag', ...SEEN },
  other_call: { kind: 'other_call', ...SEEN },
  nonce_taken: { kind: 'nonce_taken', ...SEEN },
  not_shown: { kind: 'not_shown', ...SEEN },
  not_simulated: { kind: 'not_simulated', transactionId: 'tx_1', reason: 'timeout' },
}

for (const cause of Object.values(CAUSES))
  t.test(
    `a lane that waits because of ${cause.kind} is reported alone, with the cause and its next step`,
    async (t) => {
      const findings = lane({ ...unsigned, held: { cause, seenMs: 5_000 } })
      t.equal(findings.length, 1)
      const [found] = findings
      t.match(found?.kind, cause.kind === 'not_simulated' ? 'lane_not_signing' : 'lane_held')
      t.ok(found?.problem.includes(heldText(cause)), 'the problem has the cause')
      t.equal(found?.next[0]?.say, heldNext(cause))
      t.notOk(JSON.stringify(findings).includes('scale signer'), 'more signers do not help')
    },
  )

t.test('a lane of parties that signs nothing names the setting of their nodes', async (t) => {
  const says = (type: string) =>
    JSON.stringify(lane({ ...unsigned, wallet: { id: 'wal_1', label: 'first', type, tenantId: 'acme' } }))
  t.match(says('mpc'), /ETHEREUM_RPC_URLS in the settings of each party/)
  t.notMatch(says('hd'), /each party/)
})

t.test('each cause has a text and a next step of its own', async (t) => {
  const texts = Object.values(CAUSES).flatMap((cause) => [heldText(cause), heldNext(cause)])
  t.equal(new Set(texts).size, 2 * Object.keys(HELD_CAUSES).length)
})

t.test('a cause that no signer has seen for long, and that of a lane without work, is not reported', async (t) => {
  const cause = CAUSES.nonce_taken
  t.strictSame(
    lane({ ...unsigned, held: { cause, seenMs: 600_000 } }).map(({ kind }) => kind),
    ['lane_without_holder'],
  )
  t.strictSame(lane({ held: { cause, seenMs: 5_000 } }), [])
})
