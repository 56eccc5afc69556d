/** The rows that an event of a stream writes, from the events alone. Pure: a rebuild does the same. */
import type { Event } from '../core/messages.ts'
import type { Aggregate, ProjectionContext } from './aggregate.ts'
import type { AppendedTable, ReadOrWrittenRow } from './table-rows.ts'

/** The rows of one table that an event writes. @param change the states before and after the event */
export function projectChange<State, Command, Evt extends Event, Table extends AppendedTable, Of extends Table>(
  { project }: Pick<Aggregate<State, Command, Evt, Table>, 'project'>,
  {
    before,
    after,
    id,
    tenantId,
    version,
    recordedAt,
  }: ProjectionContext & {
    readonly before: State
    readonly after: State
  },
  table: Of,
): ReadOrWrittenRow<Of, Record<never, never>>[] {
  const { rows } = project(before, after, { id, tenantId, version, recordedAt })
  return rows.flatMap((item) => (item.table === table ? [item.row as ReadOrWrittenRow<Of, Record<never, never>>] : []))
}

/** The rows of one table that the first event of a stream writes. */
export function projectFirst<State, Command, Evt extends Event, Table extends AppendedTable, Of extends Table>(
  { initialState, evolve, project }: Aggregate<State, Command, Evt, Table>,
  { recordedAt, ...event }: Evt & { readonly recordedAt: string },
  stream: { readonly id: string; readonly tenantId: string },
  table: Of,
): ReadOrWrittenRow<Of, Record<never, never>>[] {
  const after = evolve(initialState, event as unknown as Evt)
  return projectChange({ project }, { before: initialState, after, ...stream, version: 1, recordedAt }, table)
}
