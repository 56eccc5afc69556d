/**
 * The swaps that a submitter sends to nobody, because they were requested with private relays and its settings name none
 * of them: for its readiness and its heartbeat. In memory: a swap that it no longer comes across is forgotten.
 */
import { count } from '../operator/words.ts'

/** The sweeper brings unsent bytes again within seconds; at rest within a minute. */
const FORGET_AFTER_MS = 120_000

export type LeftSwaps = {
  readonly add: (chain: { readonly name: string; readonly setting: string }, transactionId: string) => void
  /** One sentence, for operators; `null` for nothing. */
  readonly problem: () => string | null
}

/** @param now a clock, ms */
export function createLeftSwaps(now: () => number): LeftSwaps {
  const seen = new Map<string, { readonly name: string; readonly setting: string; readonly at: number }>()
  return {
    add: ({ name, setting }, transactionId) => void seen.set(transactionId, { name, setting, at: now() }),
    problem() {
      for (const [id, { at }] of seen) if (now() - at > FORGET_AFTER_MS) seen.delete(id)
      const [first] = seen.values()
      if (first === undefined) return null
      const swaps = [...seen.values()].filter(({ name }) => name === first.name).length
      return `Left ${count(swaps, 'swap')} of ${first.name} unsent: requested with private relays, of which ${first.setting} of this submitter names none.`
    },
  }
}
