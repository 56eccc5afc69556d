/**
 * The stream of what was spent before the shadows of a tenant. Nothing follows from it but the buckets: `seeded_in` of the append
 * derives the same. Its writer knows the head and loads no state. Pure.
 */
import type { Aggregate } from '../event-log/aggregate.ts'
import type { CountersSeeded, SeededSum } from './seeding-events.ts'

/** What the newest event adds. */
type SeedingState = { readonly added: readonly SeededSum[] }
type SeedingCommand = { readonly type: 'SeedCounters' } & CountersSeeded['data']

export const seedingAggregate: Aggregate<SeedingState, SeedingCommand, CountersSeeded> = {
  category: 'policyseeding',
  schemas: { CountersSeeded: { version: 1, upcasters: [] } },
  initialState: { added: [] },
  decide: ({ type: _, ...data }) => (data.counters.length === 0 ? [] : [{ type: 'CountersSeeded', data }]),
  evolve: (_before, { data }) => ({ added: data.counters }),
  project: (_before, { added }) => ({
    rows: [],
    holds: [],
    spends: added.map(({ counter, bucket, amount }) => ({ counter, bucket, delta: BigInt(amount) })),
  }),
}
