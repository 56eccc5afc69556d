/**
 * Removes permanently ended transactions from a party's signing journal. Works in steps with pauses, so that signatures
 * do not wait.
 */
import { type Clock, idTime } from '../../core/ids.ts'
import type { SigningJournal } from './signing-journal.ts'

/** Transactions read at once: about a megabyte of the log. */
const STEP = 100
/** Nothing younger has permanently ended, so it is not checked. */
const LEAST_AGE_MS = 24 * 60 * 60_000

/**
 * Checks every transaction in the journal; resolves with the numbers forgotten and remaining.
 *
 * @param signal aborts to stop early
 * @throws Unavailable when the log cannot be read or the journal cannot be written; what was forgotten until then stays
 *   forgotten
 */
export async function forgetEnded(
  {
    journal,
    endedForGood,
    clock,
    rest,
  }: {
    readonly journal: Pick<SigningJournal, 'transactions' | 'forget'>
    /** Those of these transactions that neither the chain nor a coordinator can revive, according to the log. */
    readonly endedForGood: (transactionIds: readonly string[]) => Promise<readonly string[]>
    readonly clock: Clock
    /** Waits between two steps. */
    readonly rest: () => Promise<void>
  },
  signal: AbortSignal,
): Promise<{ readonly forgotten: number; readonly remembered: number }> {
  const youngest = clock() - LEAST_AGE_MS
  const old = journal.transactions().filter((id) => (idTime(id) ?? 0) < youngest)
  let forgotten = 0
  for (let at = 0; at < old.length && !signal.aborted; at += STEP) {
    const ended = await endedForGood(old.slice(at, at + STEP))
    if (ended.length > 0) await journal.forget(ended)
    forgotten += ended.length
    await rest()
  }
  return { forgotten, remembered: journal.transactions().length }
}
