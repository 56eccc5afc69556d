/** Payloads of messages that are JSON. */

export function toJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

/** @returns undefined for anything else: text that is not JSON is not a message, and the caller refuses both */
export function fromJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8'))
  } catch {
    return undefined
  }
}
