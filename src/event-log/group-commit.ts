/**
 * Batches the appends of a process: while one batch commits, the next one collects. Under load one fsync serves many
 * commits; a single caller's commit goes out immediately. Each commit gets its own outcome.
 *
 * Invariant: a commit whose response was lost is sent again unchanged and is stored at most once, because its stream
 * versions and hashes identify it.
 *
 * Invariant: a batch waits for a lock no longer than append_commits does (its lock_timeout, 1 s). Commits that would
 * wait longer continue in a separate line, one for each wallet and one commit at a time, and the next batch goes out.
 *
 * Invariant: while one session keeps a wallet's row locked, commits of other wallets do not wait for it. At most they
 * meet it once, for one lock timeout, until its line exists.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { Unavailable } from '../core/errors.ts'
import { createInTurn } from '../core/in-turn.ts'
import { type Commit, encodeBatch, type Refusal, refusalError, StreamConflict, UniqueRuleBroken } from './append.ts'
import { isConnectionFailure, isTransient } from './database-errors.ts'

/** Further commits wait for the next batch, which keeps one statement at a few milliseconds. */
const MAX_BATCH = 128
/**
 * Retries of a commit when the connection breaks or a lock is not free, 50 ms to 1 s apart: a database restart takes
 * about 1 s.
 */
const MAX_TRIES = 8
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000
const NOT_NULL_VIOLATION = '23502'
/** Of append_commits: the log was restored into a server whose ids are behind it, and a check ends this process soon. */
const IDS_BEHIND = 'BU002'

type Pending = LineItem & {
  readonly commit: Commit
  alone: boolean
  tries: number
  resolve: () => void
  reject: (error: unknown) => void
}

export type GroupCommit = {
  /**
   * Resolves once the commit is durable. Rejects with the refusal, or with `Unavailable` when the database stays
   * unreachable or a lock is not released.
   */
  readonly append: (commit: Commit) => Promise<void>
}

export type AppendObserver = (batch: { readonly commits: number; readonly durationMs: number }) => void

export function createGroupCommit(pool: Pool, observe: AppendObserver = () => undefined): GroupCommit {
  const waiting: Pending[] = []
  let flushing = false

  function nextBatch(): Pending[] {
    if (waiting[0]?.alone) return waiting.splice(0, 1)
    const firstAlone = waiting.findIndex((pending) => pending.alone)
    return waiting.splice(0, Math.min(MAX_BATCH, firstAlone === -1 ? waiting.length : firstAlone))
  }

  const lines = createLockedLines<Pending>(tryInLine, (pending) => {
    waiting.push(...pending)
    startFlush()
  })

  async function tryInLine(pending: Pending) {
    try {
      return (await send([pending])).length === 0 ? 'answered' : 'again'
    } catch (error) {
      pending.tries += 1
      if (pending.tries < MAX_TRIES) return 'again'
      const message = 'Another database session holds a lock: try again.'
      pending.reject(new Unavailable('database_busy', message, { cause: error }))
      return 'given_up'
    }
  }

  /**
   * @returns the commits to send again
   * @throws database errors that leave the whole batch undecided (a lock or statement timeout)
   */
  async function send(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const startedAt = performance.now()
    try {
      await pool.query({
        name: 'append_commits',
        text: 'SELECT append_commits($1::jsonb, $2::json, $3::jsonb)',
        values: encodeBatch(
          batch.map((pending) => pending.commit),
          batch[0]?.alone,
        ),
      })
    } catch (error) {
      if (isTransient(error)) throw error
      return settle(batch, error as DatabaseError)
    }
    for (const pending of batch) pending.resolve()
    observe({ commits: batch.length, durationMs: performance.now() - startedAt })
    return []
  }

  async function flush(): Promise<void> {
    flushing = true
    try {
      for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) {
        const sent = batch
        const left = await send(sent).catch(() => {
          for (const pending of sent) lines.open(pending)
          return []
        })
        waiting.unshift(...left)
      }
    } finally {
      flushing = false
    }
  }

  /** After this turn of the event loop, so that requests that arrived together commit together. */
  function startFlush(): void {
    if (flushing) return
    flushing = true
    setImmediate(() => void flush())
  }

  return {
    append: (commit) =>
      new Promise((resolve, reject) => {
        const pending = { commit, ...lineOf(commit), alone: false, tries: 0, resolve, reject }
        if (lines.join(pending)) return
        waiting.push(pending)
        startFlush()
      }),
  }
}

/**
 * Answers the commits whose outcome is certain after a refused or failed statement. @returns the commits to send again
 */
async function settle(batch: readonly Pending[], error: DatabaseError): Promise<readonly Pending[]> {
  if (error.code === 'BU001') return answerRefused(batch, JSON.parse(error.detail ?? '[]') as Refusal[])
  if (isConnectionFailure(error)) {
    const tries = Math.max(...batch.map((pending) => pending.tries)) + 1
    for (const pending of batch) pending.tries = tries
    if (tries > MAX_TRIES) {
      const message = 'The database is not available: try again.'
      rejectAll(batch, new Unavailable('database_unavailable', message, { cause: error }))
      return []
    }
    await delay(Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** tries))
    return batch
  }
  if (error.code === IDS_BEHIND) {
    const message = 'The database was restored and is not ready: try again.'
    rejectAll(batch, new Unavailable('database_unavailable', message, { cause: error }))
    return []
  }
  if (batch.length > 1 || (error.code === NOT_NULL_VIOLATION && !batch[0]?.alone)) {
    // One commit failed the statement for all: each is sent alone, so that each gets its own outcome. Its rows are whole
    // then: a table may lack the version that was changed.
    for (const pending of batch) pending.alone = true
    return batch
  }
  rejectAll(batch, error.code === '23505' ? uniqueViolation(error, batch[0]?.commit) : error)
  return []
}

/** The wallets whose rows a commit locks, and a name for commits that lock other rows. */
function lineOf({ decisions, holds = [] }: Commit): LineItem {
  const locked = [...decisions.flatMap(({ readModels }) => readModels.holds), ...holds]
  return {
    wallets: [...new Set(locked.map(({ walletId }) => walletId))],
    name: decisions[0]?.events[0]?.streamId ?? '',
  }
}

type DatabaseError = Error & { readonly code?: string; readonly detail?: string; readonly constraint?: string }

/** Answers the refused commits of a batch that changed nothing. Returns the commits to send again. */
function answerRefused(batch: readonly Pending[], refusals: readonly Refusal[]): Pending[] {
  const refused = new Map(refusals.map((refusal) => [refusal.commit, refusal]))
  const promised = new Set(batch.map(({ commit }) => commit.guards?.idempotency?.resourceId))
  const others: Pending[] = []
  const replays: Pending[] = []
  for (const [index, pending] of batch.entries()) {
    const refusal = refused.get(index)
    if (refusal === undefined) {
      others.push(pending)
    } else if (refusal.outcome === 'idempotent_replay' && promised.has(refusal.detail.resource_id)) {
      // It repeats a commit of this same batch: it is sent alone, later, when that one is in the log.
      pending.alone = true
      replays.push(pending)
    } else {
      const problem = refusalError(refusal)
      if (problem === null) pending.resolve()
      else pending.reject(problem)
    }
  }
  return [...others, ...replays]
}

function rejectAll(batch: readonly Pending[], error: unknown): void {
  for (const pending of batch) pending.reject(error)
}

function uniqueViolation(error: DatabaseError, commit: Commit | undefined): Error {
  if (error.constraint === 'events_stream_id_stream_version_key') {
    return new StreamConflict(commit?.decisions[0]?.events[0]?.streamId ?? '')
  }
  return new UniqueRuleBroken(error.constraint ?? 'unknown')
}

/** Connections that lines may use at the same time; the rest of the pool stays available to others. */
const LINES_AT_ONCE = 2
/** Short: the attempt has already waited for the lock. */
const PAUSE_MS = 100

type LineItem = { readonly wallets: readonly string[]; readonly name: string }

type LockedLines<Item extends LineItem> = {
  /**
   * Adds a commit to the line of one of its wallets, if there is one. @returns false when the commit waits for no lock
   */
  readonly join: (item: Item) => boolean
  /** Opens a line for a commit that had to wait for a lock. */
  readonly open: (item: Item) => void
}

/**
 * @param send tries once and returns the outcome; never rejects
 * @param giveBack receives commits that may rejoin the others: a commit of their wallet was answered, so the lock is
 *   free
 */
function createLockedLines<Item extends LineItem>(
  send: (item: Item) => Promise<'answered' | 'given_up' | 'again'>,
  giveBack: (items: readonly Item[]) => void,
): LockedLines<Item> {
  const lines = new Map<string, { readonly items: Item[]; readonly slot: string; isRunning: boolean }>()
  const inTurn = createInTurn()
  let opened = 0

  async function run(name: string): Promise<void> {
    const line = lines.get(name)
    if (line === undefined || line.isRunning) return
    line.isRunning = true
    for (let [first] = line.items; first !== undefined; [first] = line.items) {
      const item = first
      const outcome = await inTurn(line.slot, () => send(item))
      if (outcome === 'again') await delay(PAUSE_MS)
      else line.items.shift()
      if (outcome !== 'answered') continue
      lines.delete(name)
      giveBack(line.items)
      return
    }
    // All its commits were given up. The line stays known, so that the next commit of the wallet delays nobody else.
    line.isRunning = false
  }

  function put(name: string, item: Item): void {
    if (!lines.has(name)) {
      opened += 1
      lines.set(name, { items: [], slot: `slot ${opened % LINES_AT_ONCE}`, isRunning: false })
    }
    lines.get(name)?.items.push(item)
    void run(name)
  }

  const lineOf = ({ wallets }: Item) => wallets.find((wallet) => lines.has(wallet))
  return {
    join(item) {
      const name = lineOf(item)
      if (name !== undefined) put(name, item)
      return name !== undefined
    },
    open: (item) => put(lineOf(item) ?? item.wallets[0] ?? item.name, item),
  }
}
