/**
 * Loads many streams in one round trip: from what this process remembers of them, or from their first events. A stream
 * with an event that cannot be read, or that was set aside, is read once more with care, and stops no other.
 *
 * Invariant: a cached state is a starting point for reading, never a result. The reader compares its hash with the log,
 * which may have been restored to an earlier state, and drops the cached state when they differ.
 */

import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { gathering } from '../core/gathering.ts'
import type { Event } from '../core/messages.ts'
import { type Aggregate, type Decision, type Loaded, unopened, upcast } from './aggregate.ts'
import { isConnectionFailure } from './database-errors.ts'
import { type Checked, createLoadChecked, MOST_TOGETHER } from './load-checked.ts'
import { type EventRow, ofEach } from './rows.ts'
import { SET_ASIDE_STREAMS } from './set-aside.ts'

export type LoadStreams = {
  /**
   * Loads many aggregates in one round trip, in the order of `ids`. A stream with an event that cannot be read is `held`,
   * and does not stop the others.
   */
  readonly loadMany: <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    ids: readonly string[],
  ) => Promise<Loaded<S>[]>
  /**
   * As `loadMany`, but recomputes the hash chain of each stream from its first event: a signer must act only on what
   * was appended. An edited stream is reported and does not stop the others.
   */
  readonly loadChecked: <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    ids: readonly string[],
  ) => Promise<Checked<S>[]>
}

export function createLoadStreams({
  pool,
  recent,
  verifies,
  onHeld,
}: {
  readonly pool: Pool
  readonly recent: Pick<RecentStates, 'of' | 'forget'>
  /** Every load computes hashes. */
  readonly verifies: boolean
  /** Called for each stream that is found held. */
  readonly onHeld: (streamId: string, reason: string) => void
}): LoadStreams {
  const noteHeld = (category: string, loaded: readonly Loaded<unknown>[]) => {
    for (const { id, held } of loaded) if (held != null) onHeld(`${category}-${id}`, held)
  }

  const careful = createLoadChecked(pool, verifies)
  const strict = createLoadChecked(pool)

  const loadChecked: LoadStreams['loadChecked'] = async (aggregate, ids) => {
    const loaded = await strict(aggregate, ids)
    noteHeld(aggregate.category, loaded)
    return loaded
  }

  /** From the first event, for streams with an event that is bad, or that was set aside. */
  const loadCarefully: LoadStreams['loadMany'] = async (aggregate, ids) => {
    const loaded = (await careful(aggregate, ids)).map(({ broken: _, tenantId: __, opened: ___, ...one }) => one)
    noteHeld(aggregate.category, loaded)
    return loaded
  }

  const rowsFrom = gathering(
    async (wanted: readonly { readonly streamId: string; readonly version: number }[]) => {
      // Of a stream that two callers want, from the lower version.
      const least = new Map<string, number>()
      for (const { streamId, version } of wanted) least.set(streamId, Math.min(version, least.get(streamId) ?? version))
      const { rows } = await pool.query<LoadedRow>({
        name: 'load_streams',
        // LATERAL with OFFSET: one index lookup for each stream, whatever the statistics of a fast growing table say.
        text: `SELECT e.*, e.stream_id = ANY (${SET_ASIDE_STREAMS}) AS is_watched
                 FROM unnest($1::text[], $2::integer[]) AS wanted(id, version) CROSS JOIN LATERAL
                 (SELECT stream_id, stream_version, type, schema_version, hash,
                         CASE WHEN stream_version > wanted.version THEN data END AS data FROM events
                   WHERE stream_id = wanted.id AND stream_version >= wanted.version ORDER BY stream_version OFFSET 0) AS e`,
        values: [[...least.keys()], [...least.values()]],
      })
      const streams = ofEach(
        wanted.map(({ streamId }) => streamId),
        rows,
      )
      return streams.map((own, index) => own.filter((row) => row.stream_version >= (wanted[index]?.version ?? 0)))
    },
    { most: MOST_TOGETHER, isShared: isConnectionFailure },
  )

  const loadMany: LoadStreams['loadMany'] = async (aggregate, ids) => {
    if (ids.length === 0) return []
    if (verifies) return loadCarefully(aggregate, ids)
    const loaded = new Map(
      ids.map((id) => {
        const streamId = `${aggregate.category}-${id}`
        const known = recent.of(streamId) as Loaded<typeof aggregate.initialState> | undefined
        return [streamId, { ...(known ?? unopened(aggregate, id)) }]
      }),
    )
    const from = Array.from(loaded, ([streamId, { version }]) => ({ streamId, version }))
    const rows = (await rowsFrom(from)).flat()
    const forgotten = forgottenOf(loaded, rows)
    if (forgotten.length > 0) {
      recent.forget(forgotten)
      return loadMany(aggregate, ids)
    }
    const suspects = new Set<string>()
    for (const row of rows) {
      const before = loaded.get(row.stream_id)
      if (before === undefined || suspects.has(row.stream_id)) continue
      if (row.is_watched === true || !readFast(aggregate, before, row)) suspects.add(row.stream_id)
    }
    if (suspects.size > 0) {
      recent.forget([...suspects])
      const skip = aggregate.category.length + 1
      for (const one of await loadCarefully(
        aggregate,
        Array.from(suspects, (streamId) => streamId.slice(skip)),
      ))
        loaded.set(`${aggregate.category}-${one.id}`, one)
    }
    return [...loaded.values()]
  }

  return { loadMany, loadChecked }
}

/** Reads the next event without its hash. @returns false when that is not enough */
function readFast<S, E extends Event>(
  { schemas, evolve }: Pick<Aggregate<S, never, E>, 'schemas' | 'evolve'>,
  before: Mutable<Loaded<S>>,
  row: LoadedRow,
): boolean {
  if (row.stream_version <= before.version) return true // The state is a cached one, of this event.
  if (row.stream_version !== before.version + 1) return false
  try {
    before.state = evolve(before.state, upcast(schemas, row.type, row.schema_version, row.data))
  } catch {
    return false // It is read again, and the reason reported.
  }
  before.version = row.stream_version
  before.hash = row.hash.toString('hex')
  return true
}

/** Streams whose remembered state is not in the log: the database was restored to an earlier state. */
function forgottenOf(loaded: ReadonlyMap<string, Loaded<unknown>>, rows: readonly LoadedRow[]): string[] {
  const known = new Map(rows.map((row) => [`${row.stream_id} ${row.stream_version}`, row.hash.toString('hex')]))
  return [...loaded].flatMap(([streamId, { version, hash }]) =>
    version === 0 || known.get(`${streamId} ${version}`) === hash ? [] : [streamId],
  )
}

type LoadedRow = Pick<EventRow, 'stream_id' | 'stream_version' | 'type' | 'schema_version' | 'data' | 'hash'> & {
  /** Whether an event of the stream was set aside. */
  readonly is_watched: boolean | null
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * A cache of the states this process wrote recently: a process that soon writes the same streams again (the follower,
 * when a block gets its confirmations) reads only what others appended since.
 */
export type RecentStates = {
  readonly of: (streamId: string) => Loaded<unknown> | undefined
  /** Call only with decisions that are in the log for certain. */
  readonly remember: (decisions: readonly Decision[]) => void
  readonly forget: (streamIds: readonly string[]) => void
}

export function createRecentStates({
  streams,
  fromVersion,
}: {
  /** Cache size; the least recently used go first; 0 disables it. */
  readonly streams: number
  /** Shorter streams are not cached: reading them costs little. */
  readonly fromVersion: number
}): RecentStates {
  if (streams === 0) return { of: () => undefined, remember: () => undefined, forget: () => undefined }
  const states = new LRUCache<string, Loaded<unknown>>({ max: streams })
  return {
    of: (streamId) => states.get(streamId),
    remember(decisions) {
      for (const { events, after, hasEnded } of decisions) {
        const [first] = events
        if (first === undefined) continue
        if (hasEnded) states.delete(first.streamId)
        else if (after.version >= fromVersion) states.set(first.streamId, after)
      }
    },
    forget(streamIds) {
      for (const streamId of streamIds) states.delete(streamId)
    },
  }
}
