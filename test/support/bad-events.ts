/** Events that no version of Bursar appends, written to a log by its owner: each kind that once stopped its readers. */
import type { Pool } from 'pg'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'

type BadEvent = {
  readonly version?: number
  readonly type?: string
  readonly schemaVersion?: number
  readonly data?: unknown
  readonly hash?: string
}

const FAILED = { code: 'expired', message: 'late', failedAt: '2026-01-01T00:00:00.000Z' }

/** By name, each with what is wrong with it. Without a hash, it has the right one. */
export const BAD_EVENTS: Readonly<Record<string, BadEvent>> = {
  'a wrong hash': { hash: 'ab'.repeat(32) },
  'a version far ahead': { version: 2_000_000_000 },
  'an unknown schema version': { schemaVersion: 99 },
  'an unknown type': { type: 'TransactionTeleported' },
  'data that cannot be read': { type: 'TransactionSigned', data: { nonce: 'many', fees: null } },
}

/** Adds the event behind the newest one of a stream. @returns its version */
export async function insertBad(pool: Pool, streamId: string, bad: BadEvent, tenantId = 'acme'): Promise<number> {
  const { rows } = await pool.query<{ version: number; hash: string; environment: string | null }>(
    `SELECT stream_version AS version, encode(hash, 'hex') AS hash, environment FROM events WHERE stream_id = $1
      ORDER BY stream_version DESC LIMIT 1`,
    [streamId],
  )
  const last = rows[0] ?? { version: 0, hash: '', environment: null }
  const event = {
    streamId,
    streamVersion: bad.version ?? last.version + 1,
    type: bad.type ?? 'TransactionFailed',
    schemaVersion: bad.schemaVersion ?? 1,
    data: bad.data ?? FAILED,
    metadata: { tenantId, actor: 'thief' },
    recordedAt: '2026-01-01T00:00:00.000Z',
  }
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment)
     VALUES ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'), $9)`,
    [
      streamId,
      event.streamVersion,
      event.type,
      event.schemaVersion,
      JSON.stringify(event.data),
      JSON.stringify(event.metadata),
      event.recordedAt,
      bad.hash ?? chainHash(last.hash, canonicalEvent(event)),
      last.environment,
    ],
  )
  return event.streamVersion
}
