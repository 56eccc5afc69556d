/**
 * Messages of sessions that are not open here yet. A peer that opened the session earlier may send at once, over
 * another connection; its messages are kept briefly, within limits per peer, instead of being lost.
 */
import type { Message } from './message.ts'

/** Longer than the message that opens a session takes to arrive, shorter than the deadline of any round. */
const MAX_AGE_MS = 5_000
const MAX_MESSAGES_OF_A_PEER = 256
const MAX_BYTES_OF_A_PEER = 16 * 1024 * 1024

type Held = { readonly message: Message; readonly since: number }

export function createEarlyMessages({
  now,
  onExpired,
}: {
  readonly now: () => number
  readonly onExpired: (message: Message) => void
}) {
  /** By sender, in order of arrival. */
  const held = new Map<string, Held[]>()

  function dropOld(): void {
    for (const [sender, messages] of held) {
      const fresh = messages.findIndex(({ since }) => now() - since < MAX_AGE_MS)
      const expired = messages.splice(0, fresh === -1 ? messages.length : fresh)
      if (messages.length === 0) held.delete(sender)
      for (const { message } of expired) onExpired(message)
    }
  }

  return {
    /** Returns whether there was room for it. */
    hold(message: Message): boolean {
      dropOld()
      const others = held.get(message.sender) ?? []
      const bytes = others.reduce((sum, { message: { payload } }) => sum + payload.length, message.payload.length)
      if (others.length >= MAX_MESSAGES_OF_A_PEER || bytes > MAX_BYTES_OF_A_PEER) return false
      held.set(message.sender, [...others, { message, since: now() }])
      return true
    },

    /** Returns and removes the messages of a session, each sender's in order of arrival. */
    take(session: string): readonly Message[] {
      dropOld()
      const taken: Message[] = []
      for (const [sender, messages] of held) {
        taken.push(...messages.filter(({ message }) => message.session === session).map(({ message }) => message))
        const rest = messages.filter(({ message }) => message.session !== session)
        if (rest.length === 0) held.delete(sender)
        else held.set(sender, rest)
      }
      return taken
    },
  }
}
