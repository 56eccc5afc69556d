/**
 * The event log: loads aggregates, decides commands, appends events and reads them back. It is the single source of
 * truth; everything else can be rebuilt from it.
 */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'
import { toInstant } from '../core/ids.ts'
import type { Event, Metadata, RecordedEvent } from '../core/messages.ts'
import { type Aggregate, type Change, change, type EventSchemas, type Loaded, unopened, upcast } from './aggregate.ts'
import { BrokenChain, createChainCheck } from './chain-check.ts'
import type { Commit, Guards } from './commit.ts'
import { type AppendObserver, createGroupCommit } from './group-commit.ts'
import { type Checked, createLoadChecked } from './load-checked.ts'
import { createRecentStates, type RecentSettings } from './recent-states.ts'
import { repeatOnConflict } from './repeat-on-conflict.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS, toRecorded } from './rows.ts'
import type { OrNull } from './table-rows.ts'
import type { WakeUps } from './wake-ups.ts'

/** The newest version and hash of a stream, without its events. */
export type StreamHead = { readonly version: number; readonly hash: string }

export type EventLog = {
  /** Loads one aggregate; a stream that does not exist gives the initial state at version 0. */
  readonly load: <S, C, E extends Event>(aggregate: Aggregate<S, C, E>, id: string) => Promise<Loaded<S>>
  /** Loads many aggregates in one round trip, in the order of `ids`. */
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
  /** Heads of streams whose state is known from elsewhere; streams that do not exist are at version 0. */
  readonly heads: (streamIds: readonly string[]) => Promise<StreamHead[]>
  /**
   * Appends atomically and durably.
   * @throws StreamConflict, FenceLost, IdempotentReplay, HoldRefused, WalletGuardRefused, UniqueRuleBroken, Unavailable
   */
  readonly append: (commit: Commit) => Promise<void>
  /** Loads, decides and appends one command; retries when the stream changed meanwhile. Returns the new state. */
  readonly execute: <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    id: string,
    command: C,
    context: { readonly metadata: Metadata; readonly guards?: Guards },
  ) => Promise<S>
  /** Every event of a stream, oldest first, upcast to the newest schema version. */
  readonly readStream: <E extends Event>(
    aggregate: { readonly category: string; readonly schemas: EventSchemas<E['type']> },
    id: string,
  ) => Promise<RecordedEvent<E>[]>
  readonly now: () => string
}

const NOT_CACHED: RecentSettings = { streams: 0, fromVersion: 1 }

export function createEventLog(settings: {
  readonly pool: Pool
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly onBatch?: AppendObserver
  /** Called with the changes of each commit after it is durable. Must not throw. */
  readonly onCommit?: (changes: readonly Change[]) => void
  /** Which states are cached after an append: for processes that write the same streams again. None by default. */
  readonly recentStreams?: RecentSettings
  /**
   * Every load recomputes hash chains and throws BrokenChain on a mismatch: for signing processes, which must not act
   * on an edited event.
   */
  readonly verifies?: boolean
}): EventLog {
  const { pool, wakeUps, clock, verifies = false } = settings
  const group = createGroupCommit(pool, wakeUps.announce, settings.onBatch)
  const recent = createRecentStates(settings.recentStreams ?? NOT_CACHED)
  const now = () => toInstant(clock())

  const append: EventLog['append'] = async (commit) => {
    await group.append(commit)
    recent.remember(commit.changes)
    settings.onCommit?.(commit.changes)
  }

  const loadChecked = createLoadChecked(pool)

  const loadMany: EventLog['loadMany'] = async (aggregate, ids) => {
    if (ids.length === 0) return []
    if (verifies) return (await loadChecked(aggregate, ids)).map(requireWhole)
    const loaded = new Map(
      ids.map((id) => {
        const streamId = `${aggregate.category}-${id}`
        const known = recent.of(streamId) as Loaded<typeof aggregate.initialState> | undefined
        return [streamId, { ...(known ?? unopened(aggregate, id)) }]
      }),
    )
    const { rows } = await pool.query<LoadedRow>({
      name: 'load_streams',
      // LATERAL with OFFSET: one index lookup for each stream, whatever the statistics of a fast growing table say.
      text: `SELECT e.* FROM unnest($1::text[], $2::integer[]) AS wanted(id, version) CROSS JOIN LATERAL
               (SELECT stream_id, stream_version, type, schema_version, hash,
                       CASE WHEN stream_version > wanted.version THEN data END AS data FROM events
                 WHERE stream_id = wanted.id AND stream_version >= wanted.version ORDER BY stream_version OFFSET 0) AS e`,
      values: [[...loaded.keys()], Array.from(loaded.values(), ({ version }) => version)],
    })
    const forgotten = forgottenOf(loaded, rows)
    if (forgotten.length > 0) {
      recent.forget(forgotten)
      return loadMany(aggregate, ids)
    }
    for (const row of rows) {
      const before = loaded.get(row.stream_id)
      if (before === undefined || row.stream_version <= before.version) continue
      before.state = aggregate.evolve(before.state, upcast(aggregate.schemas, row.type, row.schema_version, row.data))
      before.version = row.stream_version
      before.hash = row.hash.toString('hex')
    }
    return [...loaded.values()]
  }

  const load: EventLog['load'] = async (aggregate, id) => {
    const [loaded] = await loadMany(aggregate, [id])
    return loaded ?? unopened(aggregate, id)
  }

  const execute: EventLog['execute'] = (aggregate, id, command, { metadata, guards }) =>
    repeatOnConflict(async () => {
      const loaded = await load(aggregate, id)
      const decided = change(aggregate, loaded, command, { metadata, now: now() })
      if (decided === null) return loaded.state
      await append({ changes: [decided], ...(guards ? { guards } : {}) })
      return decided.after.state
    })

  return {
    load,
    loadMany,
    loadChecked,
    execute,
    now,
    append,
    heads: (streamIds) => readHeads(pool, streamIds),
    async readStream(aggregate, id) {
      const { rows } = await pool.query<EventRow>({
        name: 'read_stream',
        text: `SELECT ${EVENT_COLUMNS} FROM events WHERE stream_id = $1 ORDER BY stream_version`,
        values: [`${aggregate.category}-${id}`],
        types: STORED_TEXTS,
      })
      if (verifies) rows.forEach(createChainCheck())
      return rows.map((row) =>
        toRecorded(row, upcast<never>(aggregate.schemas, row.type, row.schema_version, row.data)),
      )
    },
  }
}

async function readHeads(pool: Pool, streamIds: readonly string[]): Promise<StreamHead[]> {
  const result = await pool.query<OrNull<{ version: EventRow['stream_version']; hash: EventRow['hash'] }>>({
    name: 'stream_heads',
    text: `SELECT head.stream_version AS version, head.hash
             FROM unnest($1::text[]) WITH ORDINALITY AS wanted(stream_id, n)
             LEFT JOIN LATERAL (SELECT e.stream_version, e.hash FROM events e WHERE e.stream_id = wanted.stream_id
                                 ORDER BY e.stream_version DESC LIMIT 1) AS head ON true
            ORDER BY wanted.n`,
    values: [streamIds],
  })
  return result.rows.map((row) => ({ version: row.version ?? 0, hash: row.hash?.toString('hex') ?? '' }))
}

/** Streams whose remembered state is not in the log: the database was restored to an earlier state. */
function forgottenOf(loaded: ReadonlyMap<string, Loaded<unknown>>, rows: readonly LoadedRow[]): string[] {
  const known = new Map(rows.map((row) => [`${row.stream_id} ${row.stream_version}`, row.hash.toString('hex')]))
  return [...loaded].flatMap(([streamId, { version, hash }]) =>
    version === 0 || known.get(`${streamId} ${version}`) === hash ? [] : [streamId],
  )
}

function requireWhole<State>({ broken, tenantId: _, ...loaded }: Checked<State>): Loaded<State> {
  if (broken !== null) throw new BrokenChain(broken)
  return loaded
}

type LoadedRow = Pick<EventRow, 'stream_id' | 'stream_version' | 'type' | 'schema_version' | 'data' | 'hash'>

/** The changes of a list without its null entries. */
export function decided(changes: readonly (Change | null)[]): Change[] {
  return changes.filter((item) => item !== null)
}
