/**
 * Whether what somebody remembers of a transaction beside the log can be forgotten. Pure.
 *
 * Invariant: nothing but a chain or a log that goes back by more than a day makes such a transaction one that may be signed
 * again. Even then its recorded bytes bind it to its nonce.
 */
import { FINAL_STATES, type KnownTransaction, type TransactionState } from './state.ts'

/** Longer than any chain here takes until a block is final, and time to see that a database was restored to an older state. */
const SETTLED_AFTER_MS = 24 * 60 * 60_000

/**
 * Confirmed, reverted, or failed or cancelled, and nothing happened to it for a day since.
 *
 * @param nowMs milliseconds since the epoch
 */
export function hasEndedForGood(transaction: TransactionState, nowMs: number): boolean {
  if (transaction.state === 'unknown') return false
  const ended = (FINAL_STATES as readonly string[]).includes(transaction.state)
  const endedAt = transaction.history.at(-1)?.at
  if (!ended || hasLooseBytes(transaction) || endedAt === undefined) return false
  return nowMs - Date.parse(endedAt) > SETTLED_AFTER_MS
}

/** Whether there are bytes for a nonce of which the log does not say that a block has taken it. */
function hasLooseBytes({ attempts, inclusion }: KnownTransaction): boolean {
  return attempts.length > 0 && inclusion === null
}
