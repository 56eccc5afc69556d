/** How fast the whole log is verified, and the tree grows, on a log whose hashes are real. */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Metadata } from '../../src/core/messages.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import type { Figure } from './report.ts'
import type { Subject } from './subject.ts'

const execFileAsync = promisify(execFile)
const MAX_OUTPUT_BYTES = 16 * 1_024 * 1_024
const EVENTS = 1_000_000
const STREAMS_AT_ONCE = 1_000
/** What the operator's command must reach. */
const WANTED_PER_SECOND = 50_000

type Model = {
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: Metadata
  readonly recorded_at: Date
}

export async function benchAudit(subject: Subject): Promise<Figure[]> {
  return measureAudit(subject.service.state().database_url, EVENTS)
}

/** @param events how long the log is made first, by copies of a settled transaction with chains of their own */
export async function measureAudit(databaseUrl: string, events: number): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  await growWithHashes(pool, events).finally(() => pool.end())
  const directory = await mkdtemp(join(tmpdir(), 'bursar-bench-audit-'))
  try {
    const run = operator({ DATABASE_URL: databaseUrl, DATA_DIR: directory, AUDIT_ORIGIN: 'bench.local' })
    const startedAt = performance.now()
    const { size } = await run<{ size: number }>('checkpoint')
    const growth = size / ((performance.now() - startedAt) / 1_000)
    const verified = await run<{ events: number; events_per_second: number }>('verify')
    const ours = verified.events_per_second
    const note = `${verified.events.toLocaleString('en-US')} events`
    return [
      {
        bench: 'audit verify',
        unit: 'events/s',
        ours,
        ceiling: WANTED_PER_SECOND,
        ceilingIs: 'the rate that is wanted',
        note,
      },
      {
        bench: 'audit checkpoint, the first',
        unit: 'events/s',
        ours: growth,
        ceiling: ours,
        ceilingIs: 'the rate of the verification',
        note,
      },
    ]
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Runs an audit command as an operator does: the built program, in a process of its own. */
function operator(settings: Readonly<Record<string, string>>) {
  const program = fileURLToPath(new URL('../../dist/bin/bursar.js', import.meta.url))
  return async <Result>(command: string): Promise<Result> => {
    const { stdout } = await execFileAsync(process.execPath, [program, 'audit', command, '--json'], {
      env: { ...process.env, ...settings },
      maxBuffer: MAX_OUTPUT_BYTES,
    })
    return JSON.parse(stdout) as Result
  }
}

async function growWithHashes(pool: pg.Pool, events: number): Promise<void> {
  const { rows: models } = await pool.query<Model>(
    `SELECT type, schema_version, data, metadata, recorded_at FROM events
      WHERE stream_id = (SELECT stream_id FROM events WHERE type = 'TransactionConfirmed' LIMIT 1) ORDER BY stream_version`,
  )
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events')
  for (let count = Number(rows[0]?.n); count < events; count += STREAMS_AT_ONCE * models.length) {
    const copies = Array.from({ length: STREAMS_AT_ONCE }, () =>
      copyOf(models, `transaction-tx_${randomUUID()}`),
    ).flat()
    await pool.query(
      `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
       SELECT x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at, decode(x.hash, 'hex')
         FROM jsonb_to_recordset($1) AS x(stream_id text, stream_version integer, type text, schema_version integer, data jsonb, metadata jsonb,
                                          recorded_at timestamptz, hash text)`,
      [`[${copies.join(',')}]`],
    )
  }
  await pool.query('VACUUM ANALYZE events')
}

function copyOf(models: readonly Model[], streamId: string): string[] {
  let hash = ''
  return models.map((model, index) => {
    const canonical = canonicalEvent({
      streamId,
      streamVersion: index + 1,
      type: model.type,
      schemaVersion: model.schema_version,
      data: model.data,
      metadata: model.metadata,
      recordedAt: model.recorded_at.toISOString(),
    })
    hash = chainHash(hash, canonical)
    return `{"hash":"${hash}",${canonical.slice(1)}`
  })
}
