/**
 * The file that proves an event to a reader who has only the public key. A proof has exactly one encoding, byte for
 * byte, so any changed bit is detected.
 */
import { canonicalJson } from '../../core/canonical-json.ts'
import type { Metadata } from '../../core/messages.ts'

export const PROOF_FORMAT = 'bursar-inclusion-proof/1'

/** The event as covered by the chain hash, with the table's column names. */
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
  /** The chain hash of the previous event of its stream, hex; empty for the first one. */
  readonly previous_hash: string
  /** The index of the event in the log, from 0. */
  readonly leaf_index: number
  /** Hashes in hex, nearest sibling first. */
  readonly path: readonly string[]
  /** The signed note. */
  readonly checkpoint: string
}

/**
 * The same proof with its members in canonical order, including those of the event's data. @throws TypeError for values
 * that no event can hold
 */
export function orderProof({ event, path, ...proof }: Proof): Proof {
  return {
    format: proof.format,
    event_id: proof.event_id,
    event: {
      stream_id: event.stream_id,
      stream_version: event.stream_version,
      type: event.type,
      schema_version: event.schema_version,
      data: JSON.parse(canonicalJson(event.data)) as unknown,
      metadata: JSON.parse(canonicalJson(event.metadata)) as Metadata,
      recorded_at: event.recorded_at,
    },
    previous_hash: proof.previous_hash,
    leaf_index: proof.leaf_index,
    path: [...path],
    checkpoint: proof.checkpoint,
  }
}

export function encodeProof(proof: Proof): string {
  return `${JSON.stringify(orderProof(proof), null, 2)}\n`
}

/** Parses a proof; `null` when it is malformed or not encoded as `encodeProof` does. Does not verify it. */
export function decodeProof(text: string): Proof | null {
  try {
    const proof = JSON.parse(text) as Proof
    return hasShape(proof) && encodeProof(proof) === text ? proof : null
  } catch {
    return null // Not JSON, or values that no event can hold: the caller reports a malformed proof.
  }
}

function hasShape(proof: Proof): boolean {
  const { event, path } = proof
  return (
    proof.format === PROOF_FORMAT &&
    typeof event.stream_id === 'string' &&
    Number.isSafeInteger(event.stream_version) &&
    Number.isSafeInteger(proof.leaf_index) &&
    typeof proof.previous_hash === 'string' &&
    typeof proof.checkpoint === 'string' &&
    path.every((hash) => /^[0-9a-f]{64}$/.test(String(hash)))
  )
}
