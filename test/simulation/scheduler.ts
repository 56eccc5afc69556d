/**
 * Decides by a seed which process continues. Every port call waits here until it is selected; its process may then die,
 * before or after the effect, or the response may be lost. One seed gives one schedule on every machine.
 */
import { Unavailable } from '../../src/core/errors.ts'
import type { Random } from '../support/load-random.ts'

/** A process of the service: after it dies, none of its pending calls continues. */
export type Actor = { readonly name: string; alive: boolean }

export type PortCall = {
  readonly actor: Actor
  readonly label: string
  /** How often it is selected, relative to others. */
  readonly weight: number
  /** Whether faults apply; not to a wait without effect. */
  readonly fallible: boolean
  /** Whether the call can make progress: one that cannot is never selected. */
  readonly isReady?: () => boolean
}

type Waiting = PortCall & { readonly proceed: (fate: Fate) => void }

type Fate = 'done' | 'died_before' | 'died_after' | 'answer_lost' | 'not_heard'

export type Scheduler = {
  /** Waits to be selected, then applies the effect unless a fault occurs. */
  readonly call: <T>(call: PortCall, effect: () => T) => Promise<T>
  /** Runs an effect without faults when it is selected. Returns a function that takes it back. */
  readonly later: (call: PortCall, effect: () => void) => () => void
  /** Lets one waiting call continue, and waits until all processes wait again. False when none waits. */
  readonly step: (faults: boolean) => Promise<boolean>
  readonly kill: (actor: Actor) => void
  readonly note: (line: string) => void
  readonly trace: readonly string[]
}

const FAULTS: readonly (readonly [Exclude<Fate, 'done'>, number])[] = [
  ['died_before', 0.004],
  ['died_after', 0.004],
  ['answer_lost', 0.008],
  ['not_heard', 0.008],
]

export function createScheduler(random: Random): Scheduler {
  let waiting: Waiting[] = []
  const trace: string[] = []
  const note = (line: string) => void trace.push(line)

  function kill(actor: Actor): void {
    actor.alive = false
    waiting = waiting.filter((call) => call.actor !== actor)
    note(`${actor.name} dies`)
  }

  async function call<T>(request: PortCall, effect: () => T): Promise<T> {
    const { actor, label } = request
    if (!actor.alive) return new Promise<T>(() => undefined)
    const fate = await new Promise<Fate>((proceed) => {
      waiting.push({ ...request, proceed })
    })
    if (fate === 'died_before' || fate === 'died_after') {
      if (fate === 'died_after') attempt(effect)
      kill(actor)
      return new Promise<T>(() => undefined)
    }
    if (fate === 'not_heard') throw new Unavailable('simulated', `${label} was not heard`)
    if (fate === 'done') return effect()
    attempt(effect)
    throw new Unavailable('simulated', `the answer to ${label} was lost`)
  }

  function later(request: PortCall, effect: () => void): () => void {
    if (!request.actor.alive) return () => undefined
    const own: Waiting = { ...request, proceed: effect }
    waiting.push(own)
    return () => {
      waiting = waiting.filter((other) => other !== own)
    }
  }

  async function step(faults: boolean): Promise<boolean> {
    const ready = waiting.filter(({ isReady }) => isReady?.() ?? true)
    const picked = ready[pickByWeight(random, ready)]
    if (picked === undefined) return false
    waiting = waiting.filter((other) => other !== picked)
    const fate = faults && picked.fallible ? fateOf(random) : 'done'
    note(`${picked.actor.name}: ${picked.label}${fate === 'done' ? '' : ` [${fate}]`}`)
    picked.proceed(fate)
    // Everything that needs no further port runs in microtasks: when this turn runs, all processes wait again. Questions that
    // are asked together follow in the same turn, after the next step was selected: in an order that the seed decides too.
    await new Promise((resolve) => setImmediate(resolve))
    return true
  }

  return { call, later, step, kill, note, trace }
}

/** Numbers for ids in ascending order. */
export function createNumbers(): () => string {
  let made = 0
  return () => {
    made += 1
    return made.toString().padStart(3, '0')
  }
}

/** A refused effect is refused whether or not its caller is alive. */
function attempt(effect: () => unknown): void {
  try {
    effect()
  } catch {
    return
  }
}

function fateOf(random: Random): Fate {
  let roll = random.next()
  for (const [fate, probability] of FAULTS) {
    if (roll < probability) return fate
    roll -= probability
  }
  return 'done'
}

function pickByWeight(random: Random, calls: readonly PortCall[]): number {
  let roll = random.next() * calls.reduce((sum, { weight }) => sum + weight, 0)
  for (const [index, { weight }] of calls.entries()) {
    roll -= weight
    if (roll <= 0) return index
  }
  return calls.length - 1
}
