/**
 * Creates the proof of an event from the log, the tiles and a checkpoint: a few rows each, independent of the length of
 * the log.
 */
import type { Pool } from 'pg'
import { Conflict, NotFound } from '../../core/errors.ts'
import { eventIdOf, parseEventId } from '../../core/event-ids.ts'
import type { Metadata } from '../../core/messages.ts'
import { toInstantText } from '../chain/chain-check.ts'
import { type LogRow, readLogRow } from '../chain/log-rows.ts'
import { createCheckpointRows } from '../checkpoints/checkpoint-rows.ts'
import { TILE_WIDTH } from '../merkle/tiles.ts'
import { leafOf } from '../tree/leaf.ts'
import { createReadTree } from '../tree/read-tree.ts'
import { createTileStore, type TileStore } from '../tree/tile-store.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import { orderProof, PROOF_FORMAT, type Proof, type ProvedEvent } from './proof-file.ts'

/**
 * Proves an event against the newest checkpoint.
 *
 * @param tenantId only events of this tenant; `null` for all
 * @throws NotFound `event_not_found`; Conflict `event_not_signed_yet`; TreeDamaged
 */
export async function proveEvent(pool: Pool, eventId: string, tenantId: string | null): Promise<Proof> {
  const name = parseEventId(eventId)
  const row = name && (await readLogRow(pool, name.streamId, name.streamVersion))
  if (row === undefined) throw new NotFound('event')
  const metadata = JSON.parse(row.metadata) as Metadata
  if (tenantId !== null && metadata.tenantId !== tenantId) throw new NotFound('event')
  const store = createTileStore(pool)
  const index = await indexOf(store, row)
  const newest = await createCheckpointRows(pool).newest()
  if (index === null || newest === null || newest.size <= index) {
    throw new Conflict(
      'event_not_signed_yet',
      'No checkpoint covers this event yet: try again after the next checkpoint.',
    )
  }
  const before = row.streamVersion === 1 ? null : await readLogRow(pool, row.streamId, row.streamVersion - 1)
  const path = await createReadTree(store).inclusion(index, newest.size)
  return orderProof({
    format: PROOF_FORMAT,
    event_id: eventIdOf(row),
    event: toProvedEvent(row, metadata),
    previous_hash: before?.hash ?? '',
    leaf_index: index,
    path: path.map((hash) => hash.toString('hex')),
    checkpoint: newest.note,
  })
}

/** The leaf of an event; `null` while the tree has not reached it. */
async function indexOf(store: TileStore, row: LogRow): Promise<number | null> {
  const { size } = await store.state()
  const tile = await store.tileAt(row.place)
  const leaf = leafOf(row)
  const within = tile?.hashes.findIndex((hash) => leaf.equals(hash)) ?? -1
  if (tile !== null && within >= 0) return tile.index * TILE_WIDTH + within
  const { last } = await store.state()
  const isRead = size > 0 && !isAfter(row, last)
  if (isRead) throw new TreeDamaged(`The tree has no leaf for ${row.streamId} version ${row.streamVersion}`)
  return null
}

function toProvedEvent(row: LogRow, metadata: Metadata): ProvedEvent {
  return {
    stream_id: row.streamId,
    stream_version: row.streamVersion,
    type: row.type,
    schema_version: Number(row.schemaVersion),
    data: JSON.parse(row.data) as unknown,
    metadata,
    recorded_at: toInstantText(row.recordedAt),
  }
}

function isAfter({ place }: LogRow, last: LogRow['place']): boolean {
  if (place.transactionId !== last.transactionId) return place.transactionId > last.transactionId
  return place.position > last.position
}
