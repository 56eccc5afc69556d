/** Fills the log with copies of streams that the service wrote: with their own ids, nonces and hash chains. */
import type pg from 'pg'
import type { Metadata } from '../../src/core/messages.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'

export type ModelEvent = {
  readonly type: string
  readonly schema_version: number
  readonly data: Readonly<Record<string, unknown>>
  readonly metadata: Metadata
  readonly recorded_at: Date
}

export type Copy = {
  readonly model: readonly ModelEvent[]
  readonly streamId: string
  /** Texts to replace wherever they occur in the data: ids, addresses, hashes. */
  readonly replaced?: ReadonlyMap<string, string>
  /** Members of the data to replace in the events that have them: a nonce is unique. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** @throws Error when the log has no such stream */
export async function readModel(pool: pg.Pool, streamId: string): Promise<readonly ModelEvent[]> {
  const { rows } = await pool.query<ModelEvent>(
    'SELECT type, schema_version, data, metadata, recorded_at FROM events WHERE stream_id = $1 ORDER BY stream_version',
    [streamId],
  )
  if (rows.length === 0) throw new Error(`the log has no stream ${streamId} to copy`)
  return rows
}

/** Appends copies in one statement. @returns the number of events */
export async function insertCopies(pool: pg.Pool, copies: readonly Copy[]): Promise<number> {
  const events = copies.flatMap(eventsOf)
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at, decode(x.hash, 'hex')
       FROM json_to_recordset($1::json) AS x(stream_id text, stream_version integer, type text, schema_version integer, data json, metadata json,
                                        recorded_at timestamptz, hash text)`,
    [`[${events.join(',')}]`],
  )
  return events.length
}

/** As JSON. Each with its own idempotency key, which is unique. */
function eventsOf({ model, streamId, replaced, members }: Copy): string[] {
  let hash = ''
  return model.map((event, index) => {
    const { idempotency } = event.metadata
    const canonical = canonicalEvent({
      streamId,
      streamVersion: index + 1,
      type: event.type,
      schemaVersion: event.schema_version,
      data: withMembers(replaced ? replaceTexts(event.data, replaced) : event.data, members ?? {}),
      metadata: idempotency
        ? { ...event.metadata, idempotency: { ...idempotency, key: `bench-${streamId}` } }
        : event.metadata,
      recordedAt: event.recorded_at.toISOString(),
    })
    hash = chainHash(hash, canonical)
    return `{"hash":"${hash}",${canonical.slice(1)}`
  })
}

function replaceTexts(data: Copy['model'][number]['data'], replaced: ReadonlyMap<string, string>) {
  let text = JSON.stringify(data)
  for (const [from, to] of replaced) text = text.replaceAll(from, to)
  return JSON.parse(text) as ModelEvent['data']
}

function withMembers(data: ModelEvent['data'], members: Readonly<Record<string, unknown>>) {
  return { ...data, ...Object.fromEntries(Object.entries(members).filter(([name]) => name in data)) }
}
