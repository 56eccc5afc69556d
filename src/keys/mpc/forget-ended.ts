/**
 * Keeps the signing journal of a party small: what has ended for good needs no remembering. Goes in steps with rests between
 * them, so that signatures do not wait.
 */
import { type Clock, idTime } from '../../core/ids.ts'
import type { SigningJournal } from './signing-journal.ts'

/** So many transactions are read at once: about a megabyte of the log. */
const STEP = 100
/** Nothing younger has ended for good, so nobody needs to ask. */
const LEAST_AGE_MS = 24 * 60 * 60_000

export type ForgetEndedPorts = {
  readonly journal: Pick<SigningJournal, 'transactions' | 'forget'>
  /** Those of these transactions that neither the chain nor a coordinator can bring back, as the log has it. */
  readonly endedForGood: (transactionIds: readonly string[]) => Promise<readonly string[]>
  readonly clock: Clock
  /** Waits between two steps. */
  readonly rest: () => Promise<void>
}

/**
 * Looks at every transaction that the journal remembers; resolves with how many it forgot and still remembers.
 *
 * @param signal aborts when it is to stop before the end
 * @throws Unavailable when the log cannot be read or the journal cannot be written: what was forgotten until then is
 */
export type ForgetEnded = (signal: AbortSignal) => Promise<{ readonly forgotten: number; readonly remembered: number }>

export function createForgetEnded({ journal, endedForGood, clock, rest }: ForgetEndedPorts): ForgetEnded {
  return async (signal) => {
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
}
