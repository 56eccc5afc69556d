/** Channels of parties that violate the protocol: outgoing messages are changed, lost or repeated. */
import { openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { type Message, readMessage } from '../../src/keys/mpc/message.ts'
import { partyName } from '../../src/keys/mpc/party-names.ts'

export type Outgoing = { readonly to: string; readonly frame: Uint8Array; readonly message: Message }

/**
 * @param change returns the frames to send instead of one; called for every message of the party
 * @returns the replacement for the real channel that a party is started with
 */
export function changedChannel(
  party: number,
  change: (outgoing: Outgoing) => readonly Uint8Array[],
): typeof openChannel {
  return async (options) => {
    const channel = await openChannel(options)
    return {
      ...channel,
      send(to, frame) {
        const message = readMessage(frame, partyName(party), to.replace(/#.*$/, ''))
        const frames = 'refused' in message ? [frame] : change({ to, frame, message })
        for (const each of frames) channel.send(to, each)
      },
    }
  }
}

/** The same frame with one bit of its payload flipped. */
export function withFlippedBit({ frame, message }: Outgoing, at: number): Uint8Array {
  const copy = Uint8Array.from(frame)
  const place = frame.length - message.payload.length + (at % message.payload.length)
  copy[place] = (copy[place] ?? 0) ^ 1
  return copy
}
