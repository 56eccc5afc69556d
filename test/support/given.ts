/** Given these events, when this command, then these events or this refusal: the form of every test of a decider. */
import type { Test } from 'tap'
import { BursarError, type ErrorItem } from '../../src/core/errors.ts'
import type { Decider, Event } from '../../src/core/messages.ts'
import { matchExactly } from './match-exactly.ts'

/** A refusal by its code alone, or the members of its error item that are compared. */
type Refusal = string | ({ readonly code: string } & { readonly [Name in keyof ErrorItem]?: unknown })

/**
 * The `given` of one decider: `given(...events).when(command)` and then one of two.
 *
 * - `expect(t, ...events)`: the command decides exactly these events; none when it is already fulfilled.
 * - `fails(t, ...refusals)`: the command is refused with exactly these error items, in this order. An error that is
 *   not of the domain is thrown on.
 *
 * `state` is what the events give.
 */
export function givenOf<State, Command, Evt extends Event>(decider: Decider<State, Command, Evt>) {
  return (...events: readonly Evt[]) => {
    const state = events.reduce(decider.evolve, decider.initialState)
    const when = (command: Command) => ({
      expect(t: Test, ...expected: readonly Event[]): void {
        t.currentAssert = this.expect // a failure then names the line of the caller
        t.strictSame(decider.decide(command, state), expected, sentence(events, command, 'decides these events'))
      },
      fails(t: Test, ...refusals: readonly Refusal[]): void {
        t.currentAssert = this.fails
        const items = refusals.map((refusal) => (typeof refusal === 'string' ? { code: refusal } : refusal))
        matchExactly(
          t,
          outcome(() => decider.decide(command, state)),
          items,
          sentence(events, command, 'is refused'),
        )
      },
    })
    return { state, when }
  }
}

/** The error items of the refusal; what was decided instead when nothing was refused. */
function outcome(decide: () => readonly Event[]): readonly ErrorItem[] | { readonly decided: readonly Event[] } {
  try {
    return { decided: decide() }
  } catch (error) {
    if (error instanceof BursarError) return error.items
    throw error
  }
}

function sentence(events: readonly Event[], command: unknown, end: string): string {
  const { type } = command as { readonly type: string }
  return `given ${events.map((event) => event.type).join(', ') || 'nothing'}: ${type} ${end}`
}
