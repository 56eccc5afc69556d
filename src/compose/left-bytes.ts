/**
 * The transactions that a submitter sends to nobody, because they were requested with private relays and its settings name none
 * of them: for its readiness and its heartbeat. In memory: one that it no longer comes across is forgotten.
 */
import { count } from '../operator/words.ts'
import type { Relayed } from '../transactions/kind-rules.ts'

/** The sweeper brings unsent bytes again within seconds; at rest within a minute. */
const FORGET_AFTER_MS = 120_000

/** `name` and `setting`: of the chain. */
type Left = Pick<Relayed, 'noun' | 'setting'> & { readonly name: string }

export type LeftBytes = {
  readonly add: (left: Left, transactionId: string) => void
  /** One sentence, for operators; `null` for nothing. */
  readonly problem: () => string | null
}

/** @param now a clock, ms */
export function createLeftBytes(now: () => number): LeftBytes {
  const seen = new Map<string, Left & { readonly at: number }>()
  return {
    add: (left, transactionId) => void seen.set(transactionId, { ...left, at: now() }),
    problem() {
      for (const [id, { at }] of seen) if (now() - at > FORGET_AFTER_MS) seen.delete(id)
      const [first] = seen.values()
      if (first === undefined) return null
      const { name, noun, setting } = first
      const left = [...seen.values()].filter((one) => one.name === name && one.noun === noun).length
      return `Left ${count(left, noun)} of ${name} unsent: requested with private relays, of which ${setting} of this submitter names none.`
    },
  }
}
