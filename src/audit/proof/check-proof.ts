/** Checks a proof with only the public key: no database, no network, no clock. */
import { canonicalJson } from '../../core/canonical-json.ts'
import { eventIdOf } from '../../core/event-ids.ts'
import { chainHash } from '../../event-log/hash-chain.ts'
import { includes } from '../merkle/verify-proof.ts'
import { type Checkpoint, openCheckpoint } from '../note/checkpoint.ts'
import type { NoteVerifier } from '../note/note-keys.ts'
import { leafOf } from '../tree/leaf.ts'
import { decodeProof, type Proof } from './proof-file.ts'

export type ProofCheck =
  | { readonly ok: true; readonly proof: Proof; readonly checkpoint: Checkpoint; readonly hash: string }
  /** `reason` completes a sentence that starts with the proof. */
  | { readonly ok: false; readonly reason: string }

/** @param text the whole file */
export function checkProof(text: string, verifier: NoteVerifier): ProofCheck {
  const proof = decodeProof(text)
  if (proof === null) return refuse('is not a valid proof')
  const { event } = proof
  const name = { streamId: event.stream_id, streamVersion: event.stream_version }
  if (eventIdOf(name) !== proof.event_id) return refuse('has an event_id that does not match its event')
  const checkpoint = openCheckpoint(proof.checkpoint, verifier)
  if (checkpoint === null) return refuse(`has no checkpoint signed with the key ${verifier.name}`)
  const hash = chainHash(proof.previous_hash, canonicalJson(event))
  const place = { index: proof.leaf_index, size: checkpoint.size, root: checkpoint.root }
  const path = proof.path.map((each) => Buffer.from(each, 'hex'))
  if (!includes(place, leafOf({ ...name, hash }), path)) {
    return refuse('does not connect the event to the signed root: the event, its position or its path was changed')
  }
  return { ok: true, proof, checkpoint, hash }
}

function refuse(reason: string): ProofCheck {
  return { ok: false, reason }
}
