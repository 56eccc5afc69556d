/**
 * Whether the log contains a request for a ceremony: a missing key, or a requested refresh. Pure: the party has read
 * the states from the log itself.
 */
import { COVERED, type Coverage, notCovered } from '../keys/coverage.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { type MpcKeyState, openRefresh } from './state.ts'

/** @param repaired the party whose share is repaired; `null` for none */
export function coversRefresh(state: MpcKeyState, repaired: number | null): Coverage {
  if (state.status === 'unknown') return notCovered('the log does not have this key')
  const open = openRefresh(state)
  if (open === null) return notCovered('no refresh of the shares of this key was requested')
  return open.party === repaired ? COVERED : notCovered('the recorded request is for the share of another party')
}

export type GenerationFacts = {
  /** Terms of the wallets that wait for their key. */
  readonly waiting: readonly MpcTerms[]
  /** Unassigned keys with these terms. */
  readonly pooled: number
  /** The pool according to this party's own settings. */
  readonly pool: MpcTerms & { readonly size: number }
  /** Keys that this party recently helped to create and that the log does not have. */
  readonly unrecorded: number
  /** How long ago the id of the key says that it was made. */
  readonly idAgeMs: number
}

/** Failed attempts allowed in addition to those of waiting wallets. */
const SPARE_ATTEMPTS = 16
const ATTEMPTS_FOR_A_WALLET = 4
/** An id is made for each attempt. Shares under an old id would be removed as abandoned before the log has the key. */
const OLDEST_ID_MS = 24 * 60 * 60_000

export function coversGeneration(
  asked: MpcTerms,
  { waiting, pooled, pool, unrecorded, idAgeMs }: GenerationFacts,
): Coverage {
  const alike = (terms: MpcTerms) => terms.threshold === asked.threshold && terms.parties === asked.parties
  const wanted = waiting.filter(alike).length
  if (wanted === 0 && !(alike(pool) && pooled < pool.size)) {
    return notCovered('no wallet waits for such a key, and the key pool is full')
  }
  if (idAgeMs > OLDEST_ID_MS) return notCovered('the id of the key is not a new one')
  return unrecorded < SPARE_ATTEMPTS + ATTEMPTS_FOR_A_WALLET * wanted
    ? COVERED
    : notCovered(`${unrecorded} keys were created recently that are not in the log`)
}
