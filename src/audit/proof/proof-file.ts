/**
 * The file that proves an event to somebody who has nothing of ours but the public key. Of one proof there is one file, byte for byte:
 * a turned bit is always seen, wherever it is.
 */
import type { Metadata } from '../../core/messages.ts'

export const PROOF_FORMAT = 'bursar-inclusion-proof/1'

/** The event as the chain hash covers it; the names are those of the table. */
export type ProvedEvent = {
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: Metadata
  /** ISO 8601 UTC with milliseconds. */
  readonly recorded_at: string
}

export type Proof = {
  readonly format: typeof PROOF_FORMAT
  readonly event_id: string
  readonly event: ProvedEvent
  /** The chain hash of the event before it in its stream, hex; empty for the first one. */
  readonly previous_hash: string
  /** The place of the event in the log, from 0. */
  readonly leaf_index: number
  /** Hashes in hex, the nearest sibling first. */
  readonly path: readonly string[]
  /** The signed note. */
  readonly checkpoint: string
}

export function encodeProof(proof: Proof): string {
  return `${JSON.stringify(proof, null, 2)}\n`
}

/** The proof in a text; `null` when it is no proof, or not written as `encodeProof` writes it. Says nothing of its truth. */
export function decodeProof(text: string): Proof | null {
  const proof = parse(text) as Proof | null
  if (proof === null || typeof proof !== 'object' || proof.format !== PROOF_FORMAT) return null
  const { event, path } = proof
  const isProof =
    typeof event === 'object' &&
    event !== null &&
    typeof event.stream_id === 'string' &&
    Number.isSafeInteger(event.stream_version) &&
    Number.isSafeInteger(proof.leaf_index) &&
    typeof proof.previous_hash === 'string' &&
    typeof proof.checkpoint === 'string' &&
    Array.isArray(path) &&
    path.every((hash) => /^[0-9a-f]{64}$/.test(String(hash)))
  return isProof && encodeProof(proof) === text ? proof : null
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // No JSON, so no proof: the caller says so.
  }
}
