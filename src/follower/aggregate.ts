/** The stream of a followed chain. Its events are independent: there is no state to decide on. */

import type { ChainKey } from '../core/networks.ts'
import type { Aggregate, Loaded } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import type { ChainEvent } from './events.ts'

export const chainAggregate: Aggregate<null, ChainEvent, ChainEvent> = {
  category: 'chain',
  initialState: null,
  schemas: { ReorgDetected: { version: 1, upcasters: [] }, FollowerAdvanced: { version: 1, upcasters: [] } },
  decide: (fact) => [fact],
  evolve: () => null,
  project: () => ({ rows: [], holds: [] }),
}

/** The id of a chain's stream. */
export function chainStream({ network, environment }: ChainKey): string {
  return `${network}-${environment}`
}

/** The head of a chain's stream: the stream grows permanently, and only its head is needed. */
export async function loadChain(log: EventLog, chain: ChainKey): Promise<Loaded<null>> {
  const id = chainStream(chain)
  const [head] = await log.heads([`${chainAggregate.category}-${id}`])
  return { id, state: null, version: head?.version ?? 0, hash: head?.hash ?? '' }
}
