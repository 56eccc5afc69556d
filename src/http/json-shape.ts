/** Counts what a JSON text holds before anything is built from it: parsing costs far more for each value than counting. */

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
  /** Values at every depth, the outermost included. */
  readonly values: number
  /** Members of all objects, each as often as it is written. */
  readonly members: number
}

/**
 * One pass over the bytes, without allocation. Of a text that is not JSON the figures mean nothing, but the pass ends.
 *
 * @param body UTF-8
 */
export function shapeOf(body: Buffer): JsonShape {
  // A value stands at the start, after each comma, and in each list or object that is not empty.
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

/** Where the string ends that begins at `start`; the end of the body for one that does not end. */
function endOfString(body: Buffer, start: number): number {
  let at = start + 1
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1
  return at
}
