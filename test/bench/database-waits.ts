/** What the connections of PostgreSQL wait for while work is done, from samples of `pg_stat_activity`. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Subject } from './subject.ts'

const SAMPLE_MS = 50

/** Average number of connections by what they do: `CPU`, or `<type>: <event>` of PostgreSQL. Most first. */
export type Waits = readonly (readonly [what: string, connections: number])[]

/** Connections without a statement, and waits for the client, are left out. */
export async function waitsDuring(subject: Subject, work: Promise<unknown>): Promise<Waits> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  const totals = new Map<string, number>()
  let samples = 0
  let isDone = false
  const ended = work.finally(() => {
    isDone = true
  })
  ended.catch(() => undefined) // Thrown below.
  while (!isDone) {
    const { rows } = await pool.query<{ what: string; n: string }>(ACTIVE)
    for (const { what, n } of rows) totals.set(what, (totals.get(what) ?? 0) + Number(n))
    samples += 1
    await sleep(SAMPLE_MS)
  }
  await pool.end()
  await ended
  return [...totals].map(([what, n]) => [what, n / samples] as const).sort(([, a], [, b]) => b - a)
}

const ACTIVE = `SELECT coalesce(wait_event_type || ': ' || wait_event, 'CPU') AS what, count(*) AS n FROM pg_stat_activity
                 WHERE state = 'active' AND pid <> pg_backend_pid() AND wait_event_type IS DISTINCT FROM 'Client' GROUP BY 1`
