/**
 * Makes the log long without a chain: copies of settled transactions for other wallets, as the service would have
 * written them.
 */
import pg from 'pg'
import type { Subject } from './subject.ts'

/** Number of events of a settled transfer. */
const EVENTS_EACH = 5
const CHUNK = 20_000

/**
 * Copies a settled transaction, events and row, until the log has `events` events. Hashes are copies: this log is for
 * timing only.
 */
export async function growLog(subject: Subject, events: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  const { rows } = await pool.query<{ n: string; model: string }>(
    `SELECT (SELECT count(*) FROM events) AS n, (SELECT transaction_id FROM transactions WHERE state = 'confirmed' LIMIT 1) AS model`,
  )
  const missing = Math.ceil((events - Number(rows[0]?.n)) / EVENTS_EACH)
  for (let done = 0; done < missing; done += CHUNK) {
    const count = Math.min(CHUNK, missing - done)
    await pool.query(
      `WITH copies AS (SELECT 'tx_' || gen_random_uuid() AS id, (random() * 2e9)::bigint + n AS nonce FROM generate_series(1, $2::int) AS n),
            logged AS (INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
                       SELECT 'transaction-' || c.id, e.stream_version, e.type, e.schema_version, e.data, e.metadata, e.recorded_at, e.hash
                         FROM copies c, events e WHERE e.stream_id = 'transaction-' || $1::text)
       INSERT INTO transactions SELECT (jsonb_populate_record(t, jsonb_build_object('transaction_id', c.id, 'wallet_id', 'wal_bench',
                'from_address', '0xbench', 'nonce', c.nonce + $3::bigint))).* FROM copies c, transactions t WHERE t.transaction_id = $1`,
      [rows[0]?.model, count, done * 1_000_000],
    )
    process.stderr.write(
      `  the log has about ${(Number(rows[0]?.n) + (done + count) * EVENTS_EACH).toLocaleString('en-US')} events\n`,
    )
  }
  await pool.query('ANALYZE')
  await pool.end()
}
