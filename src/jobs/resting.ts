/** Items that are tried again later, each after a pause that doubles. In memory: a new process tries them at once. */
import { LRUCache } from 'lru-cache'
import { atMost } from '../core/at-most.ts'
import { backoffMs, DEFAULT_RETRIES } from './backoff.ts'
import type { Clockwork } from './clockwork.ts'

export type Resting = {
  readonly isResting: (item: string) => boolean
  /** Nothing can be done for the item now. */
  readonly waits: (item: string) => void
  /** Its pass failed. @returns how often in a row, and the pause before the next try */
  readonly failed: (item: string) => { readonly tries: number; readonly pauseMs: number }
  /** The item has new work: it may be tried soon. @returns whether now; otherwise it is called back for in a moment */
  readonly mayTry: (item: string) => boolean
  readonly forget: (item: string) => void
}

/** The first pause of an item that waits; it doubles up to the longest. */
const WAITS = { firstMs: 1_000, longestMs: 15_000 }
/** An item with new work is not tried sooner than this after it was tried in vain. */
const LEAST_MS = 250
/** Forgotten ones are tried with the others. */
const REMEMBERED = 50_000

type Rest = {
  readonly tries: number
  readonly since: number
  readonly until: number
  readonly isFailing: boolean
  readonly cancel: () => void
}

/** @param onDue called for an item whose pause is over */
export function createResting(time: Clockwork, onDue: (item: string) => void): Resting {
  const resting = new LRUCache<string, Rest>({ ...atMost(REMEMBERED), dispose: ({ cancel }) => cancel() })

  function pause(item: string, { tries, since, isFailing }: Omit<Rest, 'until' | 'cancel'>, inMs: number): void {
    const cancel = time.after(inMs, () => onDue(item))
    resting.set(item, { tries, since, isFailing, until: time.now() + inMs, cancel })
  }

  const nextOf = (item: string, isFailing: boolean) => {
    const before = resting.get(item)
    return { tries: (before?.isFailing === isFailing ? before.tries : 0) + 1, since: time.now(), isFailing }
  }

  return {
    isResting: (item) => (resting.get(item)?.until ?? Number.NEGATIVE_INFINITY) > time.now(),
    waits(item) {
      const next = nextOf(item, false)
      pause(item, next, Math.min(WAITS.longestMs, WAITS.firstMs * 2 ** (next.tries - 1)))
    },
    failed(item) {
      const next = nextOf(item, true)
      const pauseMs = backoffMs(DEFAULT_RETRIES, next.tries, time.random())
      pause(item, next, pauseMs)
      return { tries: next.tries, pauseMs }
    },
    mayTry(item) {
      const own = resting.get(item)
      const leftMs = own === undefined ? 0 : Math.min(own.until, own.since + LEAST_MS) - time.now()
      if (own === undefined || leftMs <= 0) return true
      pause(item, own, leftMs)
      return false
    },
    forget: (item) => void resting.delete(item),
  }
}
