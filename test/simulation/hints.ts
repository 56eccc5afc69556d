/** The wake-ups of the service: hints, which may be lost, late, or say nothing of what is new. */
import type { Random } from '../support/load-random.ts'
import type { Actor, Scheduler } from './scheduler.ts'

type Listener = { readonly actor: Actor; readonly hear: (work: readonly string[] | null) => void }

export type Hints = {
  /** Tells every process that listens. */
  readonly tell: (work: readonly string[]) => void
  /** @param hear `null` for what may be anything */
  readonly listen: (actor: Actor, hear: Listener['hear']) => void
}

export function createHints(random: Random, scheduler: Scheduler, storm: () => boolean): Hints {
  let listeners: Listener[] = []
  return {
    tell(work) {
      if (work.length === 0) return
      listeners = listeners.filter(({ actor }) => actor.alive)
      for (const { actor, hear } of listeners) {
        if (storm() && random.chance(0.15)) continue
        const told = storm() && random.chance(0.05) ? null : work
        const label = `hears of ${told?.map((name) => name.slice(0, 16)).join(', ') ?? 'anything'}`
        scheduler.later({ actor, label, weight: 0.7, fallible: false }, () => hear(told))
      }
    },
    listen: (actor, hear) => void listeners.push({ actor, hear }),
  }
}
