/** The sentence and the details that `explain` prints for an event. */
import t from 'tap'
import { EXPLAINED } from '../../src/compose/capabilities.ts'
import type { IdPrefix } from '../../src/core/registry.ts'
import { ID_PREFIXES } from '../../src/declarations.ts'
import type { ChainNow } from '../../src/operator/chain-now.ts'
import type { StoryFacts } from '../../src/operator/explain/read-story.ts'
import { tellEvent } from '../../src/operator/explain/tell-event.ts'
import { whereItStands } from '../../src/operator/explain/where-it-stands.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { cancellation, cancelling, fold, mined, replaced, requested, signed } from '../support/recorded-transactions.ts'

t.test('a revoked outcome is printed with the outcome, the depth of the block and the reorg', (t) => {
  const event = {
    type: 'SettlementRevoked',
    data: {
      outcome: 'confirmed',
      hash: '0x1',
      blockNumber: 99,
      blockHash: '0xb',
      confirmations: 3,
      revokedAt: '2026-01-01T00:00:00.000Z',
    },
    position: 7n,
  } as unknown as Parameters<typeof tellEvent>[0]
  const facts = {
    reorgs: new Map([[7n, { depth: 3, fromBlock: 101, ancestorBlock: 98, accepted: null }]]),
  } as unknown as StoryFacts
  t.strictSame(tellEvent(event, facts, 1), {
    text: 'reorg: its block 99 is no longer in the chain, 3 blocks deep, after it was reported as confirmed: that outcome is revoked',
    details: [
      { name: 'block', value: '0xb', source: 'recorded' },
      { name: 'reorg', value: '3 blocks, from block 101 back to 98', source: 'derived' },
    ],
  })
  t.end()
})

t.test('a cancellation in a block is printed as such, with what is missing until it is told', (t) => {
  const block: TransactionEvent = { ...mined, data: { ...mined.data, hash: replaced.data.hash, cancels: true } }
  const transaction = fold([requested, signed, cancellation, cancelling, block])
  const events = [cancelling].map((event) => ({ ...event, recordedAt: '2026-01-01T00:00:00.000Z' }))
  const facts = { transaction, events, reorgs: new Map(), head: 109 } as unknown as StoryFacts
  const text = (event: TransactionEvent) => tellEvent(event as Parameters<typeof tellEvent>[0], facts, 1).text
  t.equal(text(block), 'its cancellation was mined in block 100: it is cancelled once that is final')
  const told = { hash: replaced.data.hash, blockNumber: 100, confirmations: 32, cancelledAt: '' }
  t.match(text({ type: 'TransactionCancelled', data: told }), /by a transfer of 0 .*, 32 confirmations, in block 100$/)
  const chain = { settings: { confirmations: 32 } } as unknown as ChainNow
  const around = { chain, findings: [], headOfLane: null, nowMs: 0, followed: true }
  matchExactly(t, whereItStands(facts, around), {
    ...{ state: 'cancelling', status: 'pending' },
    says: 'Its cancellation is in a block with 10 of 32 confirmations.',
    next: [{ say: 'Wait for 22 blocks more.' }],
  })
  t.end()
})

t.test('every resource with an id of its own is reported', (t) => {
  // A token of a tenant has the name of its contract in its stream; refreshes, quotes and secrets have no stream.
  const without: readonly IdPrefix[] = ['ast', 'quo', 'rfr', 'tx', 'rpl', 'whs']
  const explained = EXPLAINED.flatMap(({ prefix }) => prefix ?? [])
  t.strictSame([...explained, ...without].sort(), Object.values(ID_PREFIXES).sort())
  for (const { noun, aggregate, texts } of EXPLAINED)
    t.strictSame(Object.keys(texts).sort(), Object.keys(aggregate?.schemas ?? {}).sort(), noun)
  t.end()
})
