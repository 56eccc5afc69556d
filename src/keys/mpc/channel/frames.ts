/**
 * Framing: four bytes of length (big-endian, payload only), one byte of type, the payload. Frames are delivered whole
 * or not at all; a length above the limit ends the connection before the payload is read.
 */

/** Far above what a ceremony sends (about 100 kB), far below what could exhaust a process. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024
const HEADER_BYTES = 5

/** `hello`: the sender has authenticated its peer. `ping` is answered with `pong`. Only `data` has a payload. */
export const FRAME_TYPES = ['hello', 'data', 'ping', 'pong'] as const
export type FrameType = (typeof FRAME_TYPES)[number]

/** Bytes that no peer of this protocol sends: the rest of the connection cannot be trusted. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame'
}

/** The header before a payload. */
export function frameHeader(type: FrameType, payloadBytes = 0): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt32BE(payloadBytes)
  header[HEADER_BYTES - 1] = FRAME_TYPES.indexOf(type)
  return header
}

/**
 * Assembles frames from the chunks of a connection. A payload within one chunk is a view of it; any other is copied
 * once.
 *
 * @returns a function that takes one chunk
 * @throws MalformedFrame from the returned function; stop reading then
 */
export function createFrameReader(onFrame: (type: FrameType, payload: Uint8Array) => void): (piece: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES)
  let headerFilled = 0
  let type: FrameType | null = null
  let payload: Buffer | null = null
  let expected = 0
  let filled = 0

  /** Returns how many bytes of the chunk were consumed. */
  function takeHeader(piece: Buffer, at: number): number {
    const taken = piece.copy(header, headerFilled, at)
    headerFilled += taken
    if (headerFilled < HEADER_BYTES) return taken
    headerFilled = 0
    expected = header.readUInt32BE()
    type = FRAME_TYPES[header[HEADER_BYTES - 1] ?? FRAME_TYPES.length] ?? null
    if (type === null) throw new MalformedFrame('the frame has an unknown type')
    if (expected > MAX_FRAME_BYTES) throw new MalformedFrame(`a frame of ${expected} bytes`)
    if (type !== 'data' && expected > 0) throw new MalformedFrame(`a ${type} with a payload`)
    return taken
  }

  function takePayload(piece: Buffer, at: number): { taken: number; whole: Uint8Array | null } {
    if (payload === null && piece.length - at >= expected) {
      return { taken: expected, whole: piece.subarray(at, at + expected) }
    }
    payload ??= Buffer.allocUnsafeSlow(expected)
    const taken = piece.copy(payload, filled, at)
    filled += taken
    if (filled < expected) return { taken, whole: null }
    const whole = payload
    payload = null
    filled = 0
    return { taken, whole }
  }

  return (piece) => {
    let at = 0
    while (at < piece.length || (type !== null && expected === 0)) {
      if (type === null) {
        at += takeHeader(piece, at)
        continue
      }
      const { taken, whole } = takePayload(piece, at)
      at += taken
      if (whole === null) continue
      const complete = type
      type = null
      onFrame(complete, whole)
    }
  }
}
