/** What an operator has accepted of a chain and no reorg has used yet. Read only where a step is refused without it. */
import type { ChainKey } from '../core/networks.ts'
import type { EventLog } from '../event-log/log.ts'
import { chainAggregate, chainStream } from './aggregate.ts'
import type { ChainEvent, ReorgAccepted, ReorgDetected } from './events.ts'

type Accepted = Pick<ReorgAccepted['data'], 'final' | 'genesis'>

export type ReadAccepted = () => Promise<Accepted | null>

/** Reads the stream again only after it has grown. */
export function createReadAccepted(log: Pick<EventLog, 'heads' | 'readStream'>, chain: ChainKey): ReadAccepted {
  const id = chainStream(chain)
  let read: { readonly version: number; readonly accepted: Accepted | null } | null = null
  return async () => {
    const [head] = await log.heads([`${chainAggregate.category}-${id}`])
    const version = head?.version ?? 0
    if (read?.version !== version)
      read = { version, accepted: unusedOf(await log.readStream<ChainEvent>(chainAggregate, id)) }
    return read.accepted
  }
}

/** The newest one, unless the reorg that it was for is behind it: the same block can become final again. */
export function unusedOf(events: readonly ChainEvent[]): Accepted | null {
  return events.reduce<Accepted | null>((accepted, event) => {
    if (event.type === 'ReorgAccepted') return event.data
    return event.type === 'ReorgDetected' && accepted !== null && uses(event.data, accepted) ? null : accepted
  }, null)
}

function uses({ ancestor }: ReorgDetected['data'], { final, genesis }: Accepted): boolean {
  return (genesis !== null && ancestor.number === 0) || (final !== null && ancestor.number < final.number)
}
