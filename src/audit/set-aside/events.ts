/** What an operator has set aside of the log. */
import type { Event } from '../../core/messages.ts'

/** An event by its place in its stream, with its hash as the log has it, hex. */
export type EventPlace = { readonly streamId: string; readonly streamVersion: number; readonly hash: string }

/** A bad event, which from now on has no effect. It stays in the log. */
export type EventSetAside = Event<
  'EventSetAside',
  EventPlace & {
    /** What is wrong with it, as a sentence. */
    readonly problem: string
    /** Why the operator set it aside. */
    readonly reason: string
    readonly by: string
    readonly setAsideAt: string
  }
>
