/**
 * The event log: loads aggregates, decides commands, appends events and reads them back. It is the single source of
 * truth; everything else can be rebuilt from it.
 */
import type { Pool } from 'pg'
import { type Clock, toInstant } from '../core/ids.ts'
import type { Event, Metadata, RecordedEvent } from '../core/messages.ts'
import { type Aggregate, type Decision, decideOn, type Loaded, unopened } from './aggregate.ts'
import type { Commit } from './append.ts'
import { BrokenChain } from './broken-chain.ts'
import { type CommitDecisions, createCommit } from './commit.ts'
import { type AppendObserver, createGroupCommit } from './group-commit.ts'
import { createLoadStreams, createRecentStates, type LoadStreams } from './load-streams.ts'
import { readNext, startOf } from './read-next.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS, toRecorded } from './rows.ts'
import { readSetAside } from './set-aside.ts'
import type { OrNull } from './table-rows.ts'
import type { WakeUps } from './wake-ups.ts'

/** The newest version and hash of a stream, without its events. */
export type StreamHead = { readonly version: number; readonly hash: string }

/** What a stream is read with. */
type StreamReads<E extends Event> = Pick<Aggregate<unknown, never, E>, 'category' | 'schemas' | 'whenSetAside'> & {
  readonly initialState: unknown
  readonly evolve: (state: never, event: never) => unknown
}

/** `held`: why the events end there, as a sentence; `null` if they are all that the stream has. */
export type SoundEvents<E extends Event> = {
  readonly events: readonly RecordedEvent<E>[]
  readonly held: string | null
}

export type EventLog = LoadStreams & {
  /**
   * Loads one aggregate; a stream that does not exist gives the initial state at version 0.
   *
   * @throws BrokenChain when it has an event that cannot be read
   */
  readonly load: <S, C, E extends Event>(aggregate: Aggregate<S, C, E>, id: string) => Promise<Loaded<S>>
  /** Heads of streams whose state is known from elsewhere; streams that do not exist are at version 0. */
  readonly heads: (streamIds: readonly string[]) => Promise<StreamHead[]>
  /** Commits what was decided; a function decides again after a conflict. */
  readonly commit: CommitDecisions
  /**
   * Appends atomically and durably: `commit` is for everything but requests with an idempotency key.
   * @throws StreamConflict, FenceLost, IdempotentReplay, HoldRefused, WalletGuardRefused, UniqueRuleBroken, Unavailable
   */
  readonly append: (commit: Commit) => Promise<void>
  /** Loads, decides and appends one command; retries when the stream changed meanwhile. Returns the new state. */
  readonly execute: <S, C, E extends Event>(
    aggregate: Aggregate<S, C, E>,
    id: string,
    command: C,
    context: { readonly metadata: Metadata },
  ) => Promise<S>
  /**
   * Every event of a stream, oldest first, upcast to the newest schema version.
   *
   * @throws BrokenChain as `load`
   */
  readonly readStream: <E extends Event>(aggregate: StreamReads<E>, id: string) => Promise<RecordedEvent<E>[]>
  /** As `readStream`, up to an event that cannot be read, and what is wrong with it. */
  readonly readSound: <E extends Event>(aggregate: StreamReads<E>, id: string) => Promise<SoundEvents<E>>
  readonly now: () => string
}

const NOT_CACHED = { streams: 0, fromVersion: 1 }

export function createEventLog(settings: {
  readonly pool: Pool
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly onBatch?: AppendObserver
  /** Called with the decisions of each commit after it is durable. Must not throw. */
  readonly onCommit?: (decisions: readonly Decision[]) => void
  /** Names of the work that these decisions made: wake-ups tell them to those who do it. */
  readonly workOf?: (decisions: readonly Decision[]) => readonly string[]
  /** Which states are cached after an append: for processes that write the same streams again. None by default. */
  readonly recentStreams?: Parameters<typeof createRecentStates>[0]
  /** Every load recomputes hash chains: for signing processes, which must not act on an edited event. */
  readonly verifies?: boolean
  /** Called for each stream that is found held. Must not throw. */
  readonly onHeld?: (streamId: string, reason: string) => void
}): EventLog {
  const { pool, wakeUps, clock, verifies = false } = settings
  const group = createGroupCommit(pool, settings.onBatch)
  const recent = createRecentStates(settings.recentStreams ?? NOT_CACHED)
  const now = () => toInstant(clock())

  const append: EventLog['append'] = async (commit) => {
    await group.append(commit)
    announce(wakeUps, commit, settings.workOf)
    recent.remember(commit.decisions)
    settings.onCommit?.(commit.decisions)
  }

  const onHeld = settings.onHeld ?? (() => undefined)
  const { loadMany, loadChecked } = createLoadStreams({ pool, recent, verifies, onHeld })

  const load: EventLog['load'] = async (aggregate, id) => {
    const [loaded] = await loadMany(aggregate, [id])
    if (loaded?.held != null) throw new BrokenChain(loaded.held)
    return loaded ?? unopened(aggregate, id)
  }

  const readSound: EventLog['readSound'] = async (aggregate, id) => {
    const { rows } = await pool.query<EventRow>({
      name: 'read_stream',
      text: `SELECT ${EVENT_COLUMNS} FROM events WHERE stream_id = $1 ORDER BY stream_version`,
      values: [`${aggregate.category}-${id}`],
      types: STORED_TEXTS,
    })
    const setAside = await readSetAside(pool)
    const part = startOf(aggregate.initialState as never)
    const events = rows.flatMap((row) => {
      const event = readNext<never, never>(aggregate, part, row, { hashes: verifies, setAside })
      return event === null ? [] : [toRecorded(row, event)]
    })
    if (part.held !== null) onHeld(`${aggregate.category}-${id}`, part.held)
    return { events, held: part.held }
  }

  const commit = createCommit(append)
  return {
    load,
    loadMany,
    loadChecked,
    execute: (aggregate, id, command, context) => execute({ load, commit, now }, aggregate, id, command, context),
    now,
    append,
    commit,
    heads: (streamIds) => readHeads(pool, streamIds),
    readSound,
    async readStream(aggregate, id) {
      const { events, held } = await readSound(aggregate, id)
      if (held !== null) throw new BrokenChain(held)
      return [...events]
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

function announce(
  wakeUps: Pick<WakeUps, 'announce'>,
  { decisions }: Commit,
  workOf: (decisions: readonly Decision[]) => readonly string[] = () => [],
): void {
  if (decisions.length === 0) return
  const types = decisions.flatMap(({ events }) => events.map(({ type }) => type))
  wakeUps.announce(types, workOf(decisions))
}

/** `EventLog.execute` over the other parts of a log. */
export async function execute<S, C, E extends Event>(
  log: Pick<EventLog, 'load' | 'commit' | 'now'>,
  aggregate: Aggregate<S, C, E>,
  id: string,
  command: C,
  { metadata }: { readonly metadata: Metadata },
): Promise<S> {
  let state = aggregate.initialState
  const [appended] = await log.commit(async () => {
    const loaded = await log.load(aggregate, id)
    state = loaded.state
    return [decideOn(aggregate, loaded, command, { metadata, now: log.now() })]
  })
  return appended?.after.state ?? state
}
