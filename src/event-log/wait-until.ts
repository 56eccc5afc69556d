/** Lets requests wait for the events of a worker: many waiters share one query at each wake-up of the log. */
import type { Pool, QueryResultRow } from 'pg'
import type { WakeUps } from './wake-ups.ts'

/** A wake-up may be lost, so the condition is checked at this interval anyway. */
const RECHECK_MS = 250
/** Wake-ups within this time share one query. */
const COALESCE_MS = 1

/** Resolves with the result of `find` for the id, or with `null` after `timeoutMs` or when nobody waits any more. */
export type WaitUntil<T> = (id: string, timeoutMs: number, over?: AbortSignal) => Promise<T | null>

/** @param find looks up many ids at once and returns those that are done; if it fails, the next check tries again */
export function createWaitUntil<T>(settings: {
  readonly wakeUps: WakeUps
  readonly find: (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>
  /** Events after which it may find something; by default any. */
  readonly types?: ReadonlySet<string>
  /** False where callers have just read that it is not done: the first look waits for a wake-up. By default true. */
  readonly looksAtOnce?: boolean
}): WaitUntil<T> {
  const { wakeUps, find, types, looksAtOnce = true } = settings
  const isAwaited = (told: ReadonlySet<string> | null) =>
    types === undefined || told === null || [...told].some((type) => types.has(type))
  const waiters = new Map<string, Set<(found: T) => void>>()
  let timer: NodeJS.Timeout | null = null
  let soon = false
  let isLooking = false
  /** Whether something was told that the look may not have seen. */
  let isAgain = false
  let stop: (() => void) | null = null

  /** A later wake-up does not delay a check that is already scheduled. */
  function lookIn(milliseconds: number): void {
    isAgain ||= isLooking && milliseconds === COALESCE_MS
    if (isLooking) return
    if (timer !== null && (soon || milliseconds === RECHECK_MS)) return
    if (timer !== null) clearTimeout(timer)
    soon = milliseconds === COALESCE_MS
    timer = setTimeout(() => void look(), milliseconds)
  }

  async function look(): Promise<void> {
    timer = null
    isLooking = true
    isAgain = false
    try {
      const found = await find([...waiters.keys()])
      for (const [id, value] of found) for (const resolve of waiters.get(id) ?? []) resolve(value)
    } catch {
      // When the database is unavailable, a waiter gives up at its own deadline; its request was recorded before.
    } finally {
      isLooking = false
      soon = false
      if (waiters.size > 0) lookIn(isAgain ? COALESCE_MS : RECHECK_MS)
    }
  }

  function leave(id: string, resolve: (found: T) => void): void {
    const waiting = waiters.get(id)
    waiting?.delete(resolve)
    if (waiting?.size === 0) waiters.delete(id)
    if (waiters.size > 0) return
    stop?.()
    stop = null
  }

  return (id, timeoutMs, over) =>
    new Promise((resolve) => {
      if (over?.aborted) return resolve(null)
      const done = (found: T | null) => {
        clearTimeout(deadline)
        over?.removeEventListener('abort', giveUp)
        leave(id, done)
        resolve(found)
      }
      const giveUp = () => done(null)
      over?.addEventListener('abort', giveUp)
      const deadline = setTimeout(() => done(null), timeoutMs)
      waiters.set(id, (waiters.get(id) ?? new Set()).add(done))
      stop ??= wakeUps.listen(({ types: told }) => {
        if (isAwaited(told)) lookIn(COALESCE_MS)
      })
      lookIn(looksAtOnce ? COALESCE_MS : RECHECK_MS)
    })
}

/**
 * As `createWaitUntil`, for a row of a read model: resolves with the row once a worker has written it.
 *
 * @param text selects of the ids in `$1` the rows that are written, with the column `id`
 */
export function waitUntilRow<Found extends QueryResultRow>(
  { pool, wakeUps }: { readonly pool: Pool; readonly wakeUps: WakeUps },
  { name, text, id }: { readonly name: string; readonly text: string; readonly id: keyof Found & string },
): WaitUntil<Found> {
  return createWaitUntil({
    wakeUps,
    async find(ids) {
      const { rows } = await pool.query<Found>({ name, text, values: [ids] })
      return new Map(rows.map((row) => [row[id], row]))
    },
  })
}
