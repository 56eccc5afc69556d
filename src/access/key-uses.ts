/**
 * Records the day on which each key was used last. A request adds nothing to this but a look into a map: the first use of a
 * day is written after it, together with those of other keys, and again until the database takes it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** As many as are authenticated from memory. A key that is forgotten is written again, which changes nothing. */
const MAX_REMEMBERED = 10_000
const RETRY_MS = 1_000

export type KeyUses = {
  /** @param nowMs the time of day */
  readonly note: (keyId: string, nowMs: number) => void
  /** Resolves once everything that was noted is written, or `close` was called and the database did not take it. */
  readonly written: () => Promise<void>
  /** Writes what is left, once. */
  readonly close: () => Promise<void>
}

/** @param onError called for each attempt that fails */
export function createKeyUses(pool: Pool, onError: (error: unknown) => void): KeyUses {
  const noted = new LRUCache<string, string>({ max: MAX_REMEMBERED })
  const closing = new AbortController()
  let waiting = new Map<string, string>()
  let writing: Promise<void> | null = null

  async function write(): Promise<void> {
    // Behind the requests of this turn of the event loop.
    await new Promise(setImmediate)
    while (waiting.size > 0) {
      const days = waiting
      waiting = new Map()
      try {
        await record(pool, days)
      } catch (error) {
        onError(error)
        waiting = new Map([...days, ...waiting])
        if (closing.signal.aborted) return
        await sleep(RETRY_MS, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
      }
    }
  }

  function start(): Promise<void> {
    writing ??= write().finally(() => {
      writing = null
    })
    return writing
  }

  return {
    note(keyId, nowMs) {
      const day = new Date(nowMs).toISOString().slice(0, 10)
      if (noted.get(keyId) === day) return
      noted.set(keyId, day)
      waiting.set(keyId, day)
      void start()
    },
    written: () => (waiting.size === 0 && writing === null ? Promise.resolve() : start()),
    async close() {
      closing.abort()
      await (waiting.size === 0 && writing === null ? undefined : start())
    },
  }
}

/** In the order of the keys, so that two processes never wait for each other. */
async function record(pool: Pool, days: ReadonlyMap<string, string>): Promise<void> {
  const ids = [...days.keys()].sort()
  await pool.query({
    name: 'record_key_uses',
    text: `INSERT INTO api_key_uses AS u (key_id, last_used_on)
           SELECT * FROM unnest($1::text[], $2::date[])
           ON CONFLICT (key_id) DO UPDATE SET last_used_on = excluded.last_used_on WHERE u.last_used_on < excluded.last_used_on`,
    values: [ids, ids.map((id) => days.get(id))],
  })
}
