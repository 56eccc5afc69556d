/** The tree in the database: its tiles and its size. Only a writer that knows the current size can extend it. */
import type { Pool } from 'pg'
import type { EventRow } from '../../event-log/rows.ts'
import type { SubscriptionPosition } from '../../event-log/subscription.ts'
import type { Row } from '../../event-log/table-rows.ts'
import type { Queryable } from '../chain/log-rows.ts'
import { decodeTile, encodeTile, type Tile, type TilePlace } from '../merkle/tiles.ts'

/** The number of leaves, and the place of the last one in the log. */
export type TreeState = { readonly size: number; readonly last: SubscriptionPosition }

/** A new or grown tile; one of level 0 records the place of its first leaf in the log. */
export type WrittenTile = Tile & { readonly first: SubscriptionPosition | null }

export type TileStore = {
  readonly state: () => Promise<TreeState>
  /** Tiles in the order of `places`; a missing tile is empty. */
  readonly tiles: (places: readonly TilePlace[]) => Promise<Tile[]>
  /** The place in the log of the first leaf of a tile of level 0. */
  readonly firstOf: (index: number) => Promise<SubscriptionPosition | null>
  /** The tile of level 0 that must contain the leaf of an event, by the event's place; `null` before the first one. */
  readonly tileAt: (place: SubscriptionPosition) => Promise<Tile | null>
  /**
   * Writes tiles and the resulting state. @returns false when the tree has another size meanwhile: nothing is written
   */
  readonly grow: (before: TreeState, after: TreeState, tiles: readonly WrittenTile[]) => Promise<boolean>
}

type Query = Pick<Pool, 'query'>

export function createTileStore(database: Queryable): TileStore {
  const pool = database as Query
  return {
    async state() {
      const { rows } = await pool.query<StateRow>('SELECT size, transaction_id::text, position FROM audit_tree')
      const [row] = rows
      return row === undefined
        ? { size: 0, last: { transactionId: 0n, position: 0n } }
        : { size: Number(row.size), last: placeOf(row) }
    },
    async tiles(places) {
      const { rows } = await pool.query<Pick<Row<'audit_tiles'>, 'level' | 'index' | 'hashes'>>({
        name: 'audit_tiles',
        text: `SELECT t.level, t.index, t.hashes FROM unnest($1::integer[], $2::bigint[]) AS wanted(level, index)
                 JOIN audit_tiles t ON t.level = wanted.level AND t.index = wanted.index`,
        values: [places.map(({ level }) => level), places.map(({ index }) => index)],
      })
      const found = new Map(rows.map(({ level, index, hashes }) => [`${level} ${index}`, decodeTile(hashes)]))
      return places.map(({ level, index }) => ({ level, index, hashes: found.get(`${level} ${index}`) ?? [] }))
    },
    async firstOf(index) {
      const { rows } = await pool.query<PlaceRow>(
        `SELECT first_transaction_id::text AS transaction_id, first_position AS position FROM audit_tiles WHERE level = 0 AND index = $1`,
        [index],
      )
      const [row] = rows
      return row === undefined ? null : placeOf(row)
    },
    async tileAt({ transactionId, position }) {
      const { rows } = await pool.query<Pick<Row<'audit_tiles'>, 'index' | 'hashes'>>(
        `SELECT index, hashes FROM audit_tiles WHERE level = 0 AND (first_transaction_id, first_position) <= ($1::xid8, $2::bigint)
          ORDER BY first_transaction_id DESC, first_position DESC LIMIT 1`,
        [transactionId.toString(), position.toString()],
      )
      const [row] = rows
      return row === undefined ? null : { level: 0, index: Number(row.index), hashes: decodeTile(row.hashes) }
    },
    async grow(before, after, tiles) {
      const { rowCount } = await pool.query({
        name: 'audit_grow',
        // One statement, so that tiles and state are always consistent.
        text: `WITH grown AS (UPDATE audit_tree SET size = $2, transaction_id = $3::xid8, position = $4 WHERE size = $1 RETURNING size),
                    written AS (INSERT INTO audit_tiles (level, index, hashes, first_transaction_id, first_position)
                      SELECT t.* FROM unnest($5::integer[], $6::bigint[], $7::bytea[], $8::xid8[], $9::bigint[]) AS t CROSS JOIN grown
                      ON CONFLICT (level, index) DO UPDATE SET hashes = excluded.hashes)
               SELECT size FROM grown`,
        values: [
          before.size,
          after.size,
          after.last.transactionId.toString(),
          after.last.position.toString(),
          tiles.map(({ level }) => level),
          tiles.map(({ index }) => index),
          tiles.map(({ hashes }) => encodeTile(hashes)),
          tiles.map(({ first }) => first?.transactionId.toString() ?? null),
          tiles.map(({ first }) => first?.position.toString() ?? null),
        ],
      })
      return rowCount === 1
    },
  }
}

type PlaceRow = Pick<EventRow, 'transaction_id' | 'position'>
type StateRow = PlaceRow & Pick<Row<'audit_tree'>, 'size'>

function placeOf({ transaction_id, position }: PlaceRow): SubscriptionPosition {
  return { transactionId: BigInt(transaction_id), position: BigInt(position) }
}
