/** Speed of verifying the whole log and rebuilding its read models, on a log with real hashes. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import type { Metadata } from '../../src/core/messages.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { runOperator } from './operator.ts'
import type { Figure } from './report.ts'
import { fundedWallets, type Subject, sendTransfer, untilConfirmed } from './subject.ts'

const EVENTS = 1_000_000
const STREAMS_AT_ONCE = 1_000
/** Far above the nonces that the service assigns. */
const FIRST_NONCE = 1_000_000
/** Target of the operator commands. */
const WANTED_PER_SECOND = 50_000
const REBUILD_SECONDS = 60
const REBUILD_MB = 500

type Model = {
  readonly type: string
  readonly schema_version: number
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Metadata
  readonly recorded_at: Date
}

export async function benchAudit(subject: Subject): Promise<Figure[]> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  await untilConfirmed(subject, walletId, await sendTransfer(subject, walletId))
  const { service } = subject
  const pool = new pg.Pool({ connectionString: service.state().database_url, max: 1 })
  await growWithHashes(pool, EVENTS).finally(() => pool.end())
  const settings = { DATA_DIR: join(service.directory, 'data') }
  await runOperator(['audit', 'checkpoint'], settings) // So that the whole log is in the tree.
  return [...(await measureVerify(settings)), ...(await measureRebuild(settings))]
}

async function measureVerify(settings: Readonly<Record<string, string>>): Promise<Figure[]> {
  const args = ['audit', 'verify']
  const { result, peakMb } = await runOperator<{ events: number; events_per_second: number }>(args, settings)
  return [
    {
      bench: 'audit verify',
      unit: 'events/s',
      ours: result.events_per_second,
      ceiling: WANTED_PER_SECOND,
      ceilingIs: 'the rate that is wanted',
      note: `${result.events.toLocaleString('en-US')} events, ${Math.round(peakMb)} MB`,
    },
  ]
}

async function measureRebuild(settings: Readonly<Record<string, string>>): Promise<Figure[]> {
  const { result, seconds, peakMb } = await runOperator<{ events: number }>(['rebuild', '--all'], settings)
  const note = `${result.events.toLocaleString('en-US')} events`
  return [
    {
      bench: 'rebuild --all',
      unit: 's',
      ours: seconds,
      ceiling: REBUILD_SECONDS,
      ceilingIs: 'the most it may take',
      note,
    },
    { bench: 'memory of rebuild --all', unit: 'MB', ours: peakMb, ceiling: REBUILD_MB, ceilingIs: 'the same', note },
  ]
}

async function growWithHashes(pool: pg.Pool, events: number): Promise<void> {
  const { rows: models } = await pool.query<Model>(
    `SELECT type, schema_version, data, metadata, recorded_at FROM events
      WHERE stream_id = (SELECT stream_id FROM events WHERE type = 'TransactionConfirmed' LIMIT 1) ORDER BY stream_version`,
  )
  if (models.length === 0) throw new Error('there is no settled transaction to copy')
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events')
  for (let count = Number(rows[0]?.n); count < events; count += STREAMS_AT_ONCE * models.length) {
    const copies = Array.from({ length: STREAMS_AT_ONCE }, (_, index) =>
      copyOf(models, `transaction-tx_${randomUUID()}`, FIRST_NONCE + count + index),
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

/** With its own nonce and idempotency key: both are unique. */
function copyOf(models: readonly Model[], streamId: string, nonce: number): string[] {
  let hash = ''
  return models.map((model, index) => {
    const { idempotency } = model.metadata
    const canonical = canonicalEvent({
      streamId,
      streamVersion: index + 1,
      type: model.type,
      schemaVersion: model.schema_version,
      data: 'nonce' in model.data ? { ...model.data, nonce } : model.data,
      metadata: idempotency
        ? { ...model.metadata, idempotency: { ...idempotency, key: `bench-${streamId}` } }
        : model.metadata,
      recordedAt: model.recorded_at.toISOString(),
    })
    hash = chainHash(hash, canonical)
    return `{"hash":"${hash}",${canonical.slice(1)}`
  })
}
