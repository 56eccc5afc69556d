/** Judges the log: every stream's hash chain, and its fold compared with the live tables. */
import pg from 'pg'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { beginSnapshot, readStreams } from '../../src/event-log/read-streams.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { withSessions } from '../../src/event-log/session.ts'

export type LogAudit = {
  readonly events: number
  /** All problems, as text; empty when there are none. */
  readonly problems: readonly string[]
}

/** Maximum differences shown. */
const SHOWN = 10

/** The hash check and the comparison each use one snapshot: appends may continue meanwhile. */
export async function auditLog(databaseUrl: string): Promise<LogAudit> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  try {
    const chained = await judgeChains(pool)
    return { events: chained.events, problems: [...chained.problems, ...(await judgeReplay(pool))] }
  } finally {
    await pool.end()
  }
}

/** Streams have every version from 1 on, and each event's hash matches its content and the previous hash. */
async function judgeChains(pool: pg.Pool): Promise<LogAudit> {
  return withSessions(pool, ['log-audit'], async (reader) => {
    await beginSnapshot(reader)
    let before = { stream: '', version: 0, hash: '' }
    const problems: string[] = []
    let events = 0
    for await (const rows of readStreams(reader, {})) {
      events += rows.length
      for (const row of rows) {
        if (row.stream_id !== before.stream) before = { stream: row.stream_id, version: 0, hash: '' }
        const canonical = canonicalEvent({
          streamId: row.stream_id,
          streamVersion: row.stream_version,
          type: row.type,
          schemaVersion: row.schema_version,
          data: row.data,
          metadata: row.metadata,
          recordedAt: row.recorded_at.toISOString(),
        })
        const hash = row.hash.toString('hex')
        if (row.stream_version !== before.version + 1 || chainHash(before.hash, canonical) !== hash)
          problems.push(`the hash chain of ${row.stream_id} breaks at version ${row.stream_version}`)
        before = { stream: row.stream_id, version: row.stream_version, hash }
      }
    }
    return { events, problems }
  })
}

async function judgeReplay(pool: pg.Pool): Promise<string[]> {
  const { differences } = await compareLive(pool, LOG_CONTENTS)
  return differences
    .slice(0, SHOWN)
    .map(({ table, live, replayed }) => `${table}: live ${text(live)}, replayed ${text(replayed)}`)
}

/** A large number is a bigint, which JSON does not support. */
function text(row: unknown): string {
  return JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/**
 * How long after each of these times the first transaction was confirmed, in milliseconds.
 *
 * @param moments by the clock of this machine, which the log uses
 */
export async function firstConfirmations(databaseUrl: string, moments: readonly Date[]): Promise<number[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ ms: number | null }>(
      `SELECT (SELECT extract(epoch FROM min(recorded_at) - moment) * 1000 FROM events
                WHERE type = 'TransactionConfirmed' AND recorded_at > moment)::float8 AS ms
         FROM unnest($1::timestamptz[]) WITH ORDINALITY AS asked(moment, n) ORDER BY n`,
      [moments],
    )
    return rows.flatMap(({ ms }) => (ms === null ? [] : [ms]))
  } finally {
    await client.end()
  }
}
