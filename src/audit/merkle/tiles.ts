/**
 * The tree in tiles of 256 hashes, as in C2SP tlog-tiles: a tile of level L holds roots of full subtrees of 256^L
 * leaves. Only the last tile of each level changes, and only by growing.
 */
import { HASH_BYTES, nodeHash } from './hashes.ts'
import type { Node } from './ranges.ts'

/** Hashes in a full tile. */
export const TILE_WIDTH = 256
/** log2 of the width. */
const TILE_HEIGHT = 8

export type TilePlace = { readonly level: number; readonly index: number }
export type Tile = TilePlace & { readonly hashes: readonly Uint8Array[] }

/** The tile that determines the hash of a full subtree. */
export function tileOf({ level, index }: Node): TilePlace {
  return {
    level: Math.floor(level / TILE_HEIGHT),
    index: Math.floor((index * 2 ** (level % TILE_HEIGHT)) / TILE_WIDTH),
  }
}

/** The hash of a full subtree from its tile, or `undefined` when the tile does not contain all of it. */
export function hashInTile({ level, index }: Node, hashes: readonly Uint8Array[]): Uint8Array | undefined {
  const width = 2 ** (level % TILE_HEIGHT)
  const start = (index * width) % TILE_WIDTH
  if (start + width > hashes.length) return undefined
  return rootOfFull(hashes.slice(start, start + width))
}

/** The last tile of each level of a tree of `size` leaves, needed to extend it. Full tiles are left out. */
export function unfinishedTiles(size: number): TilePlace[] {
  const places: TilePlace[] = []
  for (let level = 0, count = size; count > 0; level += 1, count = Math.floor(count / TILE_WIDTH)) {
    if (count % TILE_WIDTH !== 0) places.push({ level, index: Math.floor(count / TILE_WIDTH) })
  }
  return places
}

export type TileBuilder = {
  readonly append: (leaf: Uint8Array) => void
  /** The number of leaves. */
  readonly size: () => number
  /** The tiles that were added or grew since the last call. */
  readonly takeChanged: () => Tile[]
}

/** @param unfinished the tiles of `unfinishedTiles(size)` */
export function createTileBuilder(size: number, unfinished: readonly Tile[]): TileBuilder {
  const open: { index: number; hashes: Uint8Array[]; changed: boolean }[] = []
  let changed: Tile[] = []
  let leaves = size
  for (const { level, index, hashes } of unfinished) open[level] = { index, hashes: [...hashes], changed: false }

  function push(level: number, hash: Uint8Array, index: number): void {
    const tile = open[level] ?? { index: Math.floor(index / TILE_WIDTH), hashes: [], changed: false }
    open[level] = tile
    tile.hashes.push(hash)
    tile.changed = true
    if (tile.hashes.length < TILE_WIDTH) return
    changed.push({ level, index: tile.index, hashes: tile.hashes })
    delete open[level]
    push(level + 1, rootOfFull(tile.hashes), tile.index)
  }

  return {
    append(leaf) {
      push(0, leaf, leaves)
      leaves += 1
    },
    size: () => leaves,
    takeChanged() {
      const taken = changed
      changed = []
      open.forEach((tile, level) => {
        if (tile.changed) taken.push({ level, index: tile.index, hashes: [...tile.hashes] })
        tile.changed = false
      })
      return taken
    },
  }
}

/** A tile as bytes: its hashes in order. */
export function encodeTile(hashes: readonly Uint8Array[]): Buffer {
  return Buffer.concat(hashes)
}

export function decodeTile(bytes: Buffer): Buffer[] {
  return Array.from({ length: Math.floor(bytes.length / HASH_BYTES) }, (_, index) =>
    bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}

/** @param hashes 1, 2, 4, … 256 of them */
function rootOfFull(hashes: readonly Uint8Array[]): Uint8Array {
  let row = hashes
  while (row.length > 1) {
    const above: Uint8Array[] = []
    for (let index = 0; index + 1 < row.length; index += 2) {
      above.push(nodeHash(row[index] as Uint8Array, row[index + 1] as Uint8Array))
    }
    row = above
  }
  return row[0] as Uint8Array
}
