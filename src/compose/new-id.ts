/** Creates ids: UUIDv7 (RFC 9562) after a prefix, in creation order, with randomness drawn in bulk. */
import { randomFillSync } from 'node:crypto'
import { v7 } from 'uuid'
import type { NewId } from '../core/registry.ts'
import { ID_PREFIXES } from '../declarations.ts'

/** Bytes of one id. */
const BYTES = 16
/** Ids per system call for random bytes: one call for each would cost ten times the rest of the work. */
const POOLED = 256
/** The counter within a millisecond starts below this, so that it never overflows its 32 bits. */
const HIGHEST_START = 0x7fffffff

const pool = new Uint8Array(BYTES * POOLED)
let used = POOLED
let lastMs = 0
let sequence = 0

/** Ids of one process sort in creation order (RFC 9562 § 6.2, method 1). */
export const newId: NewId = (kind) => {
  const random = nextRandom()
  const nowMs = Date.now()
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) & HIGHEST_START
  } else {
    sequence += 1
  }
  return `${ID_PREFIXES[kind]}_${v7({ msecs: lastMs, seq: sequence, random })}`
}

function nextRandom(): Uint8Array {
  if (used === POOLED) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.slice(used * BYTES, (used + 1) * BYTES)
  used += 1
  return random
}
