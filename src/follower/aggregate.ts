/** The stream of a followed chain. Its events are independent: there is no state to decide on. */
import type { ChainKey } from '../core/networks.ts'
import type { Aggregate } from '../event-log/aggregate.ts'
import type { ChainEvent } from './events.ts'

export const chainAggregate: Aggregate<null, ChainEvent, ChainEvent> = {
  category: 'chain',
  initialState: null,
  schemas: {
    ReorgDetected: { version: 1, upcasters: [] },
    FollowerAdvanced: { version: 1, upcasters: [] },
    ReorgAccepted: { version: 1, upcasters: [] },
  },
  decide: (fact) => [fact],
  evolve: () => null,
  project: () => ({ rows: [], holds: [] }),
}

/** The id of a chain's stream. */
export function chainStream({ network, environment }: ChainKey): string {
  return `${network}-${environment}`
}
