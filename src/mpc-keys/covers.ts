/**
 * Whether the log wants what somebody asks a party to take part in: a key that is missing, or shares that were asked for. Pure:
 * the states come from the log, which the party has read by itself.
 */
import { COVERED, type Coverage, notCovered } from '../keys/coverage.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { type MpcKeyState, openRefresh } from './state.ts'

/** @param repaired the party whose share is repaired; `null` for none */
export function coversRefresh(state: MpcKeyState, repaired: number | null): Coverage {
  if (state.status === 'unknown') return notCovered('the log has no such key')
  const open = openRefresh(state)
  if (open === null) return notCovered('nobody asked for new shares of this key')
  return open.party === repaired ? COVERED : notCovered('the request in the log is for the share of another party')
}

export type GenerationFacts = {
  /** Terms of the wallets that wait for their key. */
  readonly waiting: readonly MpcTerms[]
  /** Keys of the asked terms that nobody has yet. */
  readonly pooled: number
  /** What is made ahead by this party's own settings. */
  readonly pool: MpcTerms & { readonly size: number }
  /** Keys that this party helped to make lately, and that the log does not have. */
  readonly unrecorded: number
}

/** Attempts that came to nothing, beside those of wallets that wait. */
const SPARE_ATTEMPTS = 16
const ATTEMPTS_FOR_A_WALLET = 4

export function coversGeneration(asked: MpcTerms, { waiting, pooled, pool, unrecorded }: GenerationFacts): Coverage {
  const alike = (terms: MpcTerms) => terms.threshold === asked.threshold && terms.parties === asked.parties
  const wanted = waiting.filter(alike).length
  if (wanted === 0 && !(alike(pool) && pooled < pool.size)) {
    return notCovered('no wallet waits for such a key, and enough of them lie ahead')
  }
  return unrecorded < SPARE_ATTEMPTS + ATTEMPTS_FOR_A_WALLET * wanted
    ? COVERED
    : notCovered(`${unrecorded} keys were made lately that the log does not have`)
}
