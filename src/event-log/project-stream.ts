/** The rows that the newest event of a stream writes, from the events alone. Pure: a rebuild does the same. */
import type { Event, RecordedEvent } from '../core/messages.ts'
import type { Aggregate } from './aggregate.ts'
import type { AppendedTable, ReadOrWrittenRow } from './table-rows.ts'

/** The rows of one table as of the newest of the events; empty without events. @param events the first ones of a stream */
export function projectEvents<State, Command, Evt extends Event, Table extends AppendedTable, Of extends Table>(
  { initialState, evolve, project }: Aggregate<State, Command, Evt, Table>,
  events: readonly RecordedEvent<Evt>[],
  stream: { readonly id: string; readonly tenantId: string },
  table: Of,
): ReadOrWrittenRow<Of, Record<never, never>>[] {
  const last = events.at(-1)
  if (last === undefined) return []
  const before = stateAfter(events, events.length - 1, { initialState, evolve })
  const after = stateAfter(events, events.length, { initialState, evolve })
  const { recordedAt, streamVersion: version } = last
  const { rows } = project(before, after, { ...stream, version, recordedAt })
  return rows.flatMap((item) => (item.table === table ? [item.row as ReadOrWrittenRow<Of, Record<never, never>>] : []))
}

type Known = { readonly evolve: unknown; readonly previous: object | undefined; readonly state: unknown }

/** By the event that a state follows. A reader that projects each event of a stream in turn folds each event once. */
const KNOWN = new WeakMap<object, Known>()

/** @param count of the events that are folded, from the first one on */
function stateAfter<State, Evt extends Event>(
  events: readonly RecordedEvent<Evt>[],
  count: number,
  { initialState, evolve }: Pick<Aggregate<State, never, Evt>, 'initialState' | 'evolve'>,
): State {
  let state = initialState
  let from = count
  for (; from > 0; from -= 1) {
    const known = KNOWN.get(events[from - 1] as object)
    if (known?.evolve !== evolve || known.previous !== events[from - 2]) continue
    state = known.state as State
    break
  }
  for (const [n, event] of events.slice(from, count).entries()) {
    state = evolve(state, event)
    KNOWN.set(event, { evolve, previous: events[from + n - 1], state })
  }
  return state
}
