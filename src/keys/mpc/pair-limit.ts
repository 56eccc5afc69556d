/**
 * Limits concurrent signatures of one key with one pair of parties to what the parties allow, so that none is refused.
 * Further sessions wait in order.
 */
import type { JointKey } from './ceremonies.ts'

/** The number of signatures of each key in a session, and their signers. */
export type PairUse = { readonly signers: readonly number[]; readonly keys: readonly JointKey[] }

type Waiting = { readonly wants: ReadonlyMap<string, number>; readonly start: () => void }

export type PairLimit = <T>(use: PairUse, work: () => Promise<T>) => Promise<T>

/** @param most a session that alone needs more for one pair never starts: the caller keeps it smaller */
export function createPairLimit(most: number): PairLimit {
  const running = new Map<string, number>()
  const waiting: Waiting[] = []

  const fits = (wants: Waiting['wants']) =>
    [...wants].every(([pair, count]) => (running.get(pair) ?? 0) + count <= most)

  function add(wants: Waiting['wants'], sign: 1 | -1): void {
    for (const [pair, count] of wants) {
      const sum = (running.get(pair) ?? 0) + sign * count
      if (sum === 0) running.delete(pair)
      else running.set(pair, sum)
    }
  }

  /** A waiting session delays later ones that need one of the same pairs. */
  function startNext(): void {
    const held = new Set<string>()
    for (const each of [...waiting]) {
      const pairs = [...each.wants.keys()]
      if (fits(each.wants) && !pairs.some((pair) => held.has(pair))) {
        waiting.splice(waiting.indexOf(each), 1)
        add(each.wants, 1)
        each.start()
      } else for (const pair of pairs) held.add(pair)
    }
  }

  return async (use, work) => {
    const wants = wantsOf(use)
    await new Promise<void>((start) => {
      waiting.push({ wants, start })
      startNext()
    })
    try {
      return await work()
    } finally {
      add(wants, -1)
      startNext()
    }
  }
}

function wantsOf({ signers, keys }: PairUse): ReadonlyMap<string, number> {
  const wants = new Map<string, number>()
  for (const { keyId } of keys) {
    for (const [index, one] of signers.entries()) {
      for (const other of signers.slice(index + 1)) {
        const pair = `${keyId} ${Math.min(one, other)} ${Math.max(one, other)}`
        wants.set(pair, (wants.get(pair) ?? 0) + 1)
      }
    }
  }
  return wants
}
