/**
 * Extends the tree by new events: the tree is over what the log has. Each new event is checked against the hash chain of
 * its stream; a bad one is recorded before it becomes a leaf. The last existing leaves are checked against the log, so
 * that a truncated or replaced tail is detected.
 */
import type { KnownEvents } from '../../event-log/fold.ts'
import { placeBefore, type SubscriptionPosition } from '../../event-log/subscription.ts'
import { type BadEvent, createChainCheck } from '../chain/chain-check.ts'
import { type LogRow, type Queryable, readLogRows } from '../chain/log-rows.ts'
import { recordBadEvents } from '../found-bad.ts'
import { createTileBuilder, TILE_WIDTH, type Tile, unfinishedTiles } from '../merkle/tiles.ts'
import { leafOf } from './leaf.ts'
import { createTileStore, type TreeState, type WrittenTile } from './tile-store.ts'
import { TreeDamaged } from './tree-damaged.ts'

/** Events added as leaves in one write. */
const BATCH_SIZE = 5_000

export type GrowTreeSettings = {
  /** Events of other types and schema versions are bad; `null` to judge only hashes and versions. */
  readonly known: KnownEvents | null
  /** Called once for each bad event. */
  readonly onBad: (bad: BadEvent) => void
}

/**
 * Reads the log to its end and returns the tree's size. Concurrent writers are safe: one of them has to try again.
 *
 * @param signal stops it between two batches
 * @throws TreeDamaged when the log contradicts the existing leaves
 */
export async function growTree(
  database: Queryable,
  settings: GrowTreeSettings,
  signal?: AbortSignal,
  onProgress?: (leaves: number) => void,
): Promise<TreeState> {
  for (let state = await createTileStore(database).state(); ; ) {
    const next = await step(database, settings, state)
    onProgress?.(next.size)
    if (next.size === state.size || signal?.aborted) return next
    state = next
  }
}

async function step(database: Queryable, { known, onBad }: GrowTreeSettings, before: TreeState): Promise<TreeState> {
  const store = createTileStore(database)
  await requireSameTail(database, before)
  const rows = await readLogRows(database, before.last, BATCH_SIZE)
  const last = rows.at(-1)
  if (last === undefined) return before
  const bad = await createChainCheck(database, known).check(rows)
  for (const one of await recordBadEvents(database, bad)) onBad(one)
  const unfinished = await store.tiles(unfinishedTiles(before.size))
  const builder = createTileBuilder(before.size, unfinished)
  for (const row of rows) builder.append(leafOf(row))
  const after = { size: builder.size(), last: last.place }
  const tiles = builder.takeChanged().map((tile) => withFirst(tile, before.size, rows))
  if (!(await store.grow(before, after, tiles))) return store.state()
  return after
}

/** The last tile of leaves is compared with the log. */
async function requireSameTail(database: Queryable, { size, last }: TreeState): Promise<void> {
  if (size === 0) return
  const store = createTileStore(database)
  const index = Math.floor((size - 1) / TILE_WIDTH)
  const [tile] = await store.tiles([{ level: 0, index }])
  const first = await store.firstOf(index)
  const hashes = tile?.hashes ?? []
  if (first === null || index * TILE_WIDTH + hashes.length !== size) {
    throw new TreeDamaged('The tiles of the tree do not match its size')
  }
  const leaves: Buffer[] = []
  let place = placeBefore(first)
  while (leaves.length < hashes.length) {
    const rows = (await readLogRows(database, place, TILE_WIDTH)).slice(0, hashes.length - leaves.length)
    if (rows.length === 0) break
    leaves.push(...rows.map(leafOf))
    place = rows.at(-1)?.place ?? place
  }
  const differs = hashes.findIndex((hash, leaf) => leaves[leaf]?.equals(hash) !== true)
  if (differs >= 0 || place.position !== last.position) {
    throw new TreeDamaged(`The log does not match leaf ${index * TILE_WIDTH + Math.max(differs, 0)} of the tree`)
  }
}

/** A tile of leaves that begins in these rows records the place of its first leaf; an existing one keeps its record. */
function withFirst(tile: Tile, sizeBefore: number, rows: readonly LogRow[]): WrittenTile {
  if (tile.level > 0) return { ...tile, first: null }
  const place: SubscriptionPosition | undefined = rows[tile.index * TILE_WIDTH - sizeBefore]?.place
  return { ...tile, first: place ?? null }
}
