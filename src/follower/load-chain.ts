/** Loads the stream of a followed chain, for an append to it. */
import type { ChainKey } from '../core/networks.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { chainAggregate, chainStream } from './aggregate.ts'

/** The head of a chain's stream: the stream grows permanently, and only its head is needed. */
export async function loadChain(log: EventLog, chain: ChainKey): Promise<Loaded<null>> {
  const id = chainStream(chain)
  const [head] = await log.heads([`${chainAggregate.category}-${id}`])
  return { id, state: null, version: head?.version ?? 0, hash: head?.hash ?? '' }
}
