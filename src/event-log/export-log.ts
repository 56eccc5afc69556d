/**
 * Exports the log in reading order from one snapshot. Memory use does not depend on its size, and nothing waits for the
 * read-only session.
 */
import { createHash } from 'node:crypto'
import type { Client, Pool } from 'pg'
import { CARRIED_TABLES, EXPORT_FORMAT, EXPORT_VERSION, type ExportFooter, type ExportHeader } from './export-format.ts'
import { beginSnapshot, transactionOf } from './read-streams.ts'
import { withSessions } from './session.ts'

const BATCH_SIZE = 1_000

export type ExportSettings = {
  /** The first event, by its position in reading order or by its recording time. */
  readonly from?: bigint | Date
  /** The last event, in the same form. */
  readonly to?: bigint | Date
  readonly tenant?: string
  /** Called with the number of events before the first line. */
  readonly onTotal?: (events: number) => void
}

/** Formatted by PostgreSQL: data and metadata as stored. */
const LINE = `'{"position":"' || position || '","transaction_id":"' || transaction_id || '","stream_id":' || to_json(stream_id)
  || ',"stream_version":' || stream_version || ',"type":' || to_json(type) || ',"schema_version":' || schema_version
  || ',"data":' || data || ',"metadata":' || metadata
  || ',"recorded_at":"' || to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  || '","hash":"' || encode(hash, 'hex') || '"}'`

const CONDITION = `($1::bigint IS NULL OR (transaction_id, position) >= (SELECT transaction_id, position FROM events WHERE position = $1))
  AND ($2::bigint IS NULL OR (transaction_id, position) <= (SELECT transaction_id, position FROM events WHERE position = $2))
  AND ($3::timestamptz IS NULL OR recorded_at >= $3) AND ($4::timestamptz IS NULL OR recorded_at <= $4)
  AND ($5::text IS NULL OR metadata->>'tenantId' = $5)`

/**
 * Yields chunks of whole lines with the number of events in each.
 *
 * @throws NotFound `unknown_position`
 */
export async function exportLog(
  pool: Pool,
  settings: ExportSettings,
  write: (lines: string, events: number) => Promise<void>,
): Promise<ExportFooter> {
  return withSessions(pool, ['export'], async (reader) => {
    await beginSnapshot(reader)
    const whole = settings.from === undefined && settings.to === undefined && settings.tenant === undefined
    const digest = createHash('sha256')
    const put = async (lines: readonly string[], events = 0) => {
      const text = lines.map((line) => `${line}\n`).join('')
      digest.update(text)
      await write(text, events)
    }
    const values = await conditionValues(reader, settings)
    const counted = await reader.query<{ n: string }>(`SELECT count(*) AS n FROM events WHERE ${CONDITION}`, values)
    settings.onTotal?.(Number(counted.rows[0]?.n))
    await put([JSON.stringify(headerOf(settings, whole))])
    const events = await putEvents(reader, values, put)
    const rows = whole ? await putCarried(reader, put) : 0
    const footer: ExportFooter = { events, rows, sha256: digest.digest('hex') }
    await write(`${JSON.stringify(footer)}\n`, 0)
    await reader.query('ROLLBACK')
    return footer
  })
}

type Put = (lines: readonly string[], events?: number) => Promise<void>

async function putEvents(reader: Client, values: readonly (string | null)[], put: Put): Promise<number> {
  await reader.query(
    `DECLARE exported NO SCROLL CURSOR FOR SELECT ${LINE} AS line FROM events WHERE ${CONDITION} ORDER BY events.transaction_id, position`,
    [...values],
  )
  for (let events = 0; ; ) {
    const { rows } = await reader.query<{ line: string }>(`FETCH ${BATCH_SIZE} FROM exported`)
    if (rows.length === 0) return events
    events += rows.length
    await put(
      rows.map(({ line }) => line),
      rows.length,
    )
  }
}

/** A few hundred rows for each chain. */
async function putCarried(reader: Client, put: Put): Promise<number> {
  let count = 0
  for (const table of CARRIED_TABLES) {
    const { rows } = await reader.query<{ row: string }>(
      `SELECT to_jsonb(r)::text AS row FROM ${table} AS r ORDER BY to_jsonb(r)::text`,
    )
    await put(rows.map(({ row }) => `{"table":"${table}","row":${row}}`))
    count += rows.length
  }
  return count
}

function headerOf({ from, to, tenant }: ExportSettings, whole: boolean): ExportHeader {
  const place = (at: bigint | Date | undefined) =>
    at === undefined ? null : at instanceof Date ? at.toISOString() : at.toString()
  return {
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    whole,
    from: place(from),
    to: place(to),
    tenant: tenant ?? null,
  }
}

async function conditionValues(reader: Client, { from, to, tenant }: ExportSettings): Promise<(string | null)[]> {
  const position = (at: bigint | Date | undefined) => (typeof at === 'bigint' ? at.toString() : null)
  const time = (at: bigint | Date | undefined) => (at instanceof Date ? at.toISOString() : null)
  for (const at of [from, to]) if (typeof at === 'bigint') await transactionOf(reader, at)
  return [position(from), position(to), time(from), time(to), tenant ?? null]
}
