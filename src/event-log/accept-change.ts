/**
 * Accepts each request for a change of a stream once. It has one effect: a used key changes nothing a second time, also
 * when the stream was changed again since.
 */
import { type Event, forResource, type Metadata } from '../core/messages.ts'
import type { NewId } from '../declarations.ts'
import type { Accept, Accepted, ChangeTarget } from './accept.ts'
import { type Aggregate, change } from './aggregate.ts'
import type { EventLog } from './log.ts'

export type AcceptChangePorts = {
  readonly log: Pick<EventLog, 'load' | 'now'>
  readonly accept: Accept
  readonly newId: NewId
}

/**
 * The aggregate's `opens` must name the events of the command.
 *
 * @param requires throws if the state does not allow the caller to ask for it
 * @throws the refusals of the command; IdempotencyKeyReused; errors of the append
 */
export function acceptChange<State, Command, Evt extends Event>(
  { log, accept, newId }: AcceptChangePorts,
  aggregate: Aggregate<State, Command, Evt>,
  target: ChangeTarget,
  command: Command,
  metadata: Metadata,
  requires: (state: State) => void = () => undefined,
): Promise<Accepted> {
  return accept(
    metadata,
    async (append, unchanged) => {
      // The key belongs to the request, not to what it changes: of two concurrent ones only one is the first.
      const id = newId('request')
      const loaded = await log.load(aggregate, target.id)
      requires(loaded.state)
      const changed = change(aggregate, loaded, command, { metadata: forResource(metadata, id), now: log.now() })
      return changed === null ? unchanged(target, null) : append({ id, commit: { changes: [changed] }, made: null })
    },
    { replayFirst: true },
  )
}
