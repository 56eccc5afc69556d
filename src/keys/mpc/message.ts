/**
 * The content of a frame: a payload with its session, ceremony, round, sender, receiver and sequence number. Each
 * message has exactly one encoding; anything else is refused, not thrown.
 */
import { isPeerName } from './peer-name.ts'

const VERSION = 1
const SESSION_BYTES = 16
/** version, kind, round, sequence, session, length of the sender's name, length of the receiver's. */
const FIXED_BYTES = 1 + 1 + 2 + 4 + SESSION_BYTES + 1 + 1

export type Message = {
  /** 16 random bytes in hex, unique per session. */
  readonly session: string
  /** The ceremony, 0 to 255; the code that runs ceremonies defines the numbers. */
  readonly kind: number
  /** 0 to 65,535. */
  readonly round: number
  /** The number of messages that the sender sent to the receiver in this session before. */
  readonly sequence: number
  readonly sender: string
  readonly receiver: string
  /** In a message that was read, a view of the frame. */
  readonly payload: Uint8Array
}

/** Why a frame is not accepted as a message for this process from its peer. */
export type FrameRefusal = 'malformed' | 'unknown_version' | 'sender_is_not_the_peer' | 'not_for_us'

const SESSION = /^[0-9a-f]{32}$/

/** @throws RangeError for a field that the encoding cannot hold: a defect of the caller */
export function encodeMessage(message: Message): Uint8Array {
  const { session, kind, round, sequence, sender, receiver, payload } = message
  if (!SESSION.test(session)) throw new RangeError('a session id must be 16 bytes in lower-case hex')
  if (!isPeerName(sender) || !isPeerName(receiver))
    throw new RangeError('sender and receiver must be names of processes')
  const frame = Buffer.allocUnsafeSlow(FIXED_BYTES + sender.length + receiver.length + payload.length)
  let at = frame.writeUInt8(VERSION)
  at = frame.writeUInt8(kind, at)
  at = frame.writeUInt16BE(round, at)
  at = frame.writeUInt32BE(sequence, at)
  at += frame.write(session, at, 'hex')
  at = frame.writeUInt8(sender.length, at)
  at = frame.writeUInt8(receiver.length, at)
  at += frame.write(sender, at, 'latin1')
  at += frame.write(receiver, at, 'latin1')
  frame.set(payload, at)
  return frame
}

/**
 * Parses a frame from the channel.
 *
 * @param from the peer that the channel authenticated
 * @param me the name of this process
 */
export function readMessage(frame: Uint8Array, from: string, me: string): Message | { readonly refused: FrameRefusal } {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
  if (bytes[0] !== VERSION) return { refused: bytes.length === 0 ? 'malformed' : 'unknown_version' }
  if (bytes.length < FIXED_BYTES) return { refused: 'malformed' }
  const senderEnd = FIXED_BYTES + bytes.readUInt8(FIXED_BYTES - 2)
  const receiverEnd = senderEnd + bytes.readUInt8(FIXED_BYTES - 1)
  if (receiverEnd > bytes.length) return { refused: 'malformed' }
  const sender = bytes.toString('latin1', FIXED_BYTES, senderEnd)
  const receiver = bytes.toString('latin1', senderEnd, receiverEnd)
  if (!isPeerName(sender) || !isPeerName(receiver)) return { refused: 'malformed' }
  if (sender !== from) return { refused: 'sender_is_not_the_peer' }
  if (receiver !== me) return { refused: 'not_for_us' }
  return {
    kind: bytes.readUInt8(1),
    round: bytes.readUInt16BE(2),
    sequence: bytes.readUInt32BE(4),
    session: bytes.toString('hex', 8, 8 + SESSION_BYTES),
    sender,
    receiver,
    payload: bytes.subarray(receiverEnd),
  }
}
