/**
 * Loads streams and recomputes their hash chains: two or three hashes for a transaction. It detects an event that was
 * edited, removed or inserted. It cannot detect a whole stream that was forged with valid hashes: forging one needs the
 * right to append, which database roles restrict, and the signed tree shows it later.
 */
import type { Pool } from 'pg'
import type { Event } from '../core/messages.ts'
import { type Aggregate, type Loaded, upcast } from './aggregate.ts'
import { chainProblem } from './chain-check.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS } from './rows.ts'

/** A loaded stream with the result of its hash chain check. */
export type Checked<State> = Loaded<State> & {
  /** What is wrong with the chain, or `null`. When set, the state is the one before the bad event. */
  readonly broken: string | null
  /** From the metadata of the first event; `null` when the stream does not exist. */
  readonly tenantId: string | null
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

export function createLoadChecked(pool: Pool) {
  return async <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    ids: readonly string[],
  ): Promise<Checked<S>[]> => {
    const loaded = new Map<string, Mutable<Checked<S>>>()
    for (const id of ids)
      loaded.set(`${aggregate.category}-${id}`, {
        id,
        state: aggregate.initialState,
        version: 0,
        hash: '',
        broken: null,
        tenantId: null,
      })
    const { rows } = await pool.query<EventRow>({
      name: 'check_streams',
      // As `load_streams`: one index lookup for each stream.
      text: `SELECT e.* FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
               (SELECT ${EVENT_COLUMNS} FROM events WHERE stream_id = wanted.id ORDER BY stream_version OFFSET 0) AS e`,
      values: [[...loaded.keys()]],
      types: STORED_TEXTS,
    })
    for (const row of rows) {
      const before = loaded.get(row.stream_id)
      if (before === undefined || before.broken !== null) continue
      before.broken = chainProblem(before, row)
      if (before.broken !== null) continue
      before.state = aggregate.evolve(before.state, upcast(aggregate.schemas, row.type, row.schema_version, row.data))
      before.version = row.stream_version
      before.hash = row.hash.toString('hex')
      before.tenantId ??= row.metadata.tenantId
    }
    return [...loaded.values()]
  }
}
