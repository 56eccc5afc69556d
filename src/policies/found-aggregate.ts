/** The stream of a found spend: one event, and what it adds to buckets, as the append does. Pure. */
import type { Aggregate } from '../event-log/aggregate.ts'
import { spendsOf } from '../transactions/spends.ts'
import type { SpendFound } from './found-events.ts'

type FoundState = { readonly found: SpendFound['data'] | null }
type FoundCommand = { readonly type: 'RecordFound'; readonly found: SpendFound['data'] }

export const foundAggregate: Aggregate<FoundState, FoundCommand, SpendFound> = {
  category: 'foundspend',
  schemas: { SpendFound: { version: 1, upcasters: [] } },
  initialState: { found: null },
  decide: ({ found }, before) => (before.found === null ? [{ type: 'SpendFound', data: found }] : []),
  evolve: ({ found }, { data }) => ({ found: found ?? data }),
  project: (before, { found }) => ({
    rows: [],
    holds: [],
    spends: before.found === null ? spendsOf(found?.reservations) : [],
  }),
}
