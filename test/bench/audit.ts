/** Speed of verifying the whole log and rebuilding its read models, on a log with real hashes. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { insertCopies, readModel } from './copied-streams.ts'
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

export async function benchAudit(subject: Subject): Promise<Figure[]> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  const transactionId = await sendTransfer(subject, walletId)
  await untilConfirmed(subject, walletId, transactionId)
  const { service } = subject
  const pool = new pg.Pool({ connectionString: service.state().database_url, max: 1 })
  await growWithHashes(pool, transactionId, EVENTS).finally(() => pool.end())
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

async function growWithHashes(pool: pg.Pool, modelId: string, events: number): Promise<void> {
  const model = await readModel(pool, `transaction-${modelId}`)
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events')
  for (let count = Number(rows[0]?.n); count < events; ) {
    const copies = Array.from({ length: STREAMS_AT_ONCE }, (_, index) => ({
      model,
      streamId: `transaction-tx_${randomUUID()}`,
      members: { nonce: FIRST_NONCE + count + index },
    }))
    count += await insertCopies(pool, copies)
  }
  await pool.query('VACUUM ANALYZE events')
}
