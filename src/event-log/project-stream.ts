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
  let before = initialState
  let after = initialState
  for (const event of events) {
    before = after
    after = evolve(after, event)
  }
  const { recordedAt, streamVersion: version } = last
  const { rows } = project(before, after, { ...stream, version, recordedAt })
  return rows.flatMap((item) => (item.table === table ? [item.row as ReadOrWrittenRow<Of, Record<never, never>>] : []))
}
