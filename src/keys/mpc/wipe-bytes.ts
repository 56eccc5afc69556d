/** Wipes all byte arrays in a value of plain objects, arrays and maps, including their whole buffers. */
export function wipeBytes(value: unknown): void {
  if (value instanceof Uint8Array) new Uint8Array(value.buffer).fill(0)
  else if (value instanceof Map) for (const one of value.values()) wipeBytes(one)
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) wipeBytes(one)
}
