/** Answers that count for a while. Concurrent questions share one, and one that fails is asked for again. */
import { LRUCache } from 'lru-cache'

export type Remembered<Value> = {
  /** @param ask called if nothing is remembered under the name; @throws its errors, to everybody who shares the question */
  readonly of: (name: string, ask: () => Promise<Value>) => Promise<Value>
  /** Makes the next question a new one. */
  readonly forget: (name: string) => void
  readonly forgetAll: () => void
}

/** @param ms how long an answer counts, from its question on. @param most names that are remembered, those that were used last */
export function remembering<Value>({ ms, most }: { readonly ms: number; readonly most: number }): Remembered<Value> {
  const known = new LRUCache<string, Promise<Value>>({ max: most, ttl: ms })
  return {
    of(name, ask) {
      const found = known.get(name)
      if (found !== undefined) return found
      const answer = ask()
      known.set(name, answer)
      answer.catch(() => {
        // It may have been forgotten, and asked for again.
        if (known.peek(name) === answer) known.delete(name)
      })
      return answer
    },
    forget: (name) => void known.delete(name),
    forgetAll: () => known.clear(),
  }
}
