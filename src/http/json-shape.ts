/** Counts the values of a JSON text before it is parsed: parsing costs far more per value than counting. */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20

export type JsonShape = {
  /** Values at every depth, including the outermost. */
  readonly values: number
  /** Members of all objects; duplicates count each time. */
  readonly members: number
}

/**
 * One pass over the bytes, without allocation. For a text that is not JSON the result is meaningless, but the pass
 * ends.
 *
 * @param body UTF-8
 */
export function shapeOf(body: Buffer): JsonShape {
  // A value is at the start, after each comma, and in each array or object that is not empty.
  let values = 1
  let members = 0
  let justOpened = false
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0
    if (byte <= SPACE) continue
    if (justOpened) {
      justOpened = false
      if (byte !== CLOSE_LIST && byte !== CLOSE_OBJECT) values++
    }
    if (byte === QUOTE) at = endOfString(body, at)
    else if (byte === COMMA) values++
    else if (byte === COLON) members++
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) justOpened = true
  }
  return { values, members }
}

/** The end of the string that starts at `start`; the end of the body for an unterminated one. */
function endOfString(body: Buffer, start: number): number {
  let at = start + 1
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1
  return at
}
