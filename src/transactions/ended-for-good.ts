/**
 * Whether data about a transaction outside the log can be deleted. Pure.
 *
 * Invariant: such a transaction can become signable again only if a chain or log goes back by more than a day. Even
 * then its recorded bytes bind it to its nonce.
 */
import { FINAL_STATES, type KnownTransaction, type TransactionState } from './state.ts'

/**
 * Longer than any supported chain takes to finalize a block, and enough time to notice that a database was restored.
 */
const SETTLED_AFTER_MS = 24 * 60 * 60_000

/**
 * Settled, failed or cancelled, and unchanged for a day.
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

/** Whether there are bytes for a nonce that is not recorded as used in a block. */
function hasLooseBytes({ attempts, inclusion }: KnownTransaction): boolean {
  return attempts.length > 0 && inclusion === null
}
