/** The payload of a round: a party's message to another for each item of a session, or that it gave the item up. */

const GIVEN_UP = 0xffff_ffff

/** In the order of the items; `null` for one that was given up. */
export type Payloads = readonly (Uint8Array | null)[]

export function encodePayloads(payloads: Payloads): Uint8Array {
  const bytes = Buffer.alloc(payloads.reduce((sum, payload) => sum + 4 + (payload?.length ?? 0), 0))
  let at = 0
  for (const payload of payloads) {
    at = bytes.writeUInt32LE(payload?.length ?? GIVEN_UP, at)
    if (payload === null) continue
    bytes.set(payload, at)
    at += payload.length
  }
  return bytes
}

/** @returns undefined unless the text holds exactly `count` payloads */
export function decodePayloads(encoded: Uint8Array, count: number): Payloads | undefined {
  const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength)
  const payloads: (Uint8Array | null)[] = []
  let at = 0
  while (payloads.length < count) {
    if (bytes.length - at < 4) return undefined
    const length = bytes.readUInt32LE(at)
    at += 4
    if (length === GIVEN_UP) {
      payloads.push(null)
      continue
    }
    if (bytes.length - at < length) return undefined
    payloads.push(bytes.subarray(at, at + length))
    at += length
  }
  return at === bytes.length ? payloads : undefined
}
