/** Parses the message to sign: converts the text to bytes. */
import { ValidationFailed } from '../core/errors.ts'

/** Enough for every sign-in text; longer data should be signed by its hash. */
export const MAX_MESSAGE_BYTES = 32_768

/** `utf8`: the text itself, whatever it contains. `hex`: the bytes that it encodes. */
export const ENCODINGS = ['utf8', 'hex'] as const
export type Encoding = (typeof ENCODINGS)[number]

const HEX = /^0x(?:[0-9a-fA-F]{2})*$/

/** @throws ValidationFailed `invalid_hex`, `message_too_large` */
export function readMessage(text: string, encoding: Encoding): Uint8Array {
  if (encoding === 'hex' && !HEX.test(text)) {
    const rule = 'message must be bytes: 0x and an even number of hexadecimal digits, or text with the encoding utf8.'
    throw ValidationFailed.field('message', 'invalid_hex', rule)
  }
  const bytes = encoding === 'hex' ? Buffer.from(text.slice(2), 'hex') : Buffer.from(text, 'utf8')
  if (bytes.length <= MAX_MESSAGE_BYTES) return bytes
  throw ValidationFailed.field(
    'message',
    'message_too_large',
    `message has ${bytes.length} bytes, but at most ${MAX_MESSAGE_BYTES} can be signed: sign a hash of it instead.`,
  )
}
