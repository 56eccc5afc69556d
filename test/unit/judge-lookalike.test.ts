/** An operator's decision is for the transaction on chain that the operator looked at. */
import t from 'tap'
import { StreamConflict } from '../../src/event-log/append.ts'
import { createCommit } from '../../src/event-log/commit.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { judgeLookalike } from '../../src/transactions/judge-lookalike.ts'
import { oneNode } from '../support/one-node.ts'
import { fold, golden, requested } from '../support/recorded-transactions.ts'

const [FIRST, SECOND] = ['ab', 'cd'].map((byte) => `0x${byte.repeat(32)}`) as [string, string]
const held = (hash: string): TransactionEvent => ({
  ...golden('LookalikeHeld'),
  data: { hash, nonce: 5, why: 'no_tag', heldAt: '' },
})

/** @param conflicts of the first appends */
function stage(events: readonly TransactionEvent[], conflicts: readonly Error[] = []) {
  const state = fold([requested, ...events])
  const appended: unknown[] = []
  const left = [...conflicts]
  const append = async (commit: unknown) => {
    const error = left.shift()
    if (error !== undefined) throw error
    appended.push(commit)
  }
  const log = {
    now: () => '2026-11-21T12:00:00.000Z',
    loadChecked: async () => [{ id: 'tx_1', state, version: 2, hash: '', broken: null, tenantId: 'acme' }],
    commit: createCommit(append, async () => undefined),
  } as unknown as EventLog
  const withLane = async <T>(_lane: unknown, task: (lease: never) => Promise<T>) => task({} as never)
  const clientOf = () => oneNode({ batch: async () => [] })
  return {
    appended,
    judge: (hash: string) => judgeLookalike({ log, clientOf, withLane }, 'tx_1', 'new', hash),
  }
}

t.test('a decision on a hash that the request is no longer held for changes nothing', async (t) => {
  const { judge, appended } = stage([held(FIRST), held(SECOND)])
  await t.rejects(judge(FIRST), { code: 'not_held', message: SECOND })
  t.strictSame(appended, [])
  t.match(await judge(SECOND), { hash: SECOND, verdict: 'new' })
  t.equal(appended.length, 1)
})

t.test('a held request that was cancelled is not judged any more', async (t) => {
  const cancelled = { ...golden('TransactionCancelled'), data: { hash: null, cancelledAt: '' } } as TransactionEvent
  const { judge, appended } = stage([held(FIRST), cancelled])
  await t.rejects(judge(FIRST), { code: 'not_held' })
  t.strictSame(appended, [])
})

t.test('after a signer wrote to the request, the decision is made again on what it is then', async (t) => {
  const { judge, appended } = stage([held(FIRST)], [new StreamConflict('transaction-tx_1')])
  t.match(await judge(FIRST), { hash: FIRST, verdict: 'new' })
  t.equal(appended.length, 1)
})
