/**
 * Loads streams as far as they can be read, each from its first event, with their hash chains: two or three hashes for a
 * transaction. It detects an event that was edited, removed or inserted. It cannot detect a whole stream that was forged
 * with valid hashes: forging one needs the right to append, which database roles restrict, and the signed tree shows it
 * later.
 */
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import type { Event } from '../core/messages.ts'
import type { Aggregate, Loaded } from './aggregate.ts'
import { BrokenChain } from './broken-chain.ts'
import { isConnectionFailure } from './database-errors.ts'
import { readNext, type StreamPart, startOf } from './read-next.ts'
import { EVENT_COLUMNS, type EventRow, ofEach, STORED_TEXTS } from './rows.ts'
import { NOTHING_SET_ASIDE, readSetAside, type SetAside } from './set-aside.ts'

/** Where an event stands in the log, and who caused it. `recordedAt`: ISO 8601. */
export type Opened = { readonly position: bigint; readonly actor: string; readonly recordedAt: string }

/** A loaded stream with the result of its check. */
export type Checked<State> = Loaded<State> & {
  /** Why nothing may be signed for it, or `null`. When set, the state is the one before the bad event. */
  readonly broken: string | null
  /** From the metadata of the first event; `null` when the stream does not exist. */
  readonly tenantId: string | null
  /** Of the first event; `null` when the stream does not exist. */
  readonly opened: Opened | null
}

/** The only one of a list of one. @throws BrokenChain */
export function requireSound<State>([checked]: readonly Checked<State>[]): Checked<State> {
  if (checked === undefined) throw new Error('a stream that was asked for is missing')
  if (checked.broken !== null) throw new BrokenChain(checked.broken)
  return checked
}

/** Streams of several callers in one query. */
export const MOST_TOGETHER = 1_024

/** @param hashes false to compute hashes only of streams with an event that was set aside */
export function createLoadChecked(pool: Pool, hashes = true) {
  // As `load_streams`: one index lookup for each stream.
  const rowsOf = gathering(
    async (streamIds: readonly string[]) => {
      const { rows } = await pool.query<EventRow>({
        name: 'check_streams',
        text: `SELECT e.* FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
                 (SELECT ${EVENT_COLUMNS} FROM events WHERE stream_id = wanted.id ORDER BY stream_version OFFSET 0) AS e`,
        values: [[...new Set(streamIds)]],
        types: STORED_TEXTS,
      })
      return ofEach(streamIds, rows)
    },
    { most: MOST_TOGETHER, isShared: isConnectionFailure },
  )
  return async <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    ids: readonly string[],
  ): Promise<Checked<S>[]> => {
    const unique = [...new Set(ids)]
    const rows = (await rowsOf(unique.map((id) => `${aggregate.category}-${id}`))).flat()
    const read = (setAside: SetAside) => readAll(aggregate, ids, rows, { hashes, setAside })
    const first = read(NOTHING_SET_ASIDE)
    // Almost always nothing is wrong, or nothing was set aside.
    if (hashes && first.every(({ held }) => held === null)) return first
    const setAside = await readSetAside(pool)
    return setAside.streams.size === 0 ? first : read(setAside)
  }
}

function readAll<S, C, E extends Event>(
  aggregate: Aggregate<S, C, E>,
  ids: readonly string[],
  rows: readonly EventRow[],
  settings: { readonly hashes: boolean; readonly setAside: SetAside },
): Checked<S>[] {
  const parts = new Map<string, StreamPart<S> & Pick<Mutable<Checked<S>>, 'id' | 'tenantId' | 'opened'>>(
    ids.map((id) => [
      `${aggregate.category}-${id}`,
      { ...startOf(aggregate.initialState), id, tenantId: null, opened: null },
    ]),
  )
  for (const row of rows) {
    const part = parts.get(row.stream_id)
    if (part === undefined) continue
    if (readNext(aggregate, part, row, settings) === null) continue
    part.tenantId ??= row.metadata.tenantId
    part.opened ??= openedBy(row)
  }
  return Array.from(parts.values(), ({ isSetAside, ...part }) => ({
    ...part,
    broken: isSetAside && aggregate.whenSetAside === 'end' ? null : part.held,
  }))
}

function openedBy({ position, metadata, recorded_at }: EventRow): Opened {
  return { position: BigInt(position), actor: metadata.actor, recordedAt: recorded_at.toISOString() }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
