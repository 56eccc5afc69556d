/** Roots and proofs from the tiles: each needs only a few tiles, independent of the length of the log. */
import { EMPTY_ROOT } from '../merkle/hashes.ts'
import { consistencyRanges, hashOfRange, inclusionRanges, type Node, nodesOf, type Range } from '../merkle/ranges.ts'
import { hashInTile, type TilePlace, tileOf } from '../merkle/tiles.ts'
import type { TileStore } from './tile-store.ts'
import { TreeDamaged } from './tree-damaged.ts'

export type ReadTree = {
  /** The root of the first `size` leaves. @throws TreeDamaged when the tree has fewer */
  readonly rootAt: (size: number) => Promise<Buffer>
  /** Proves leaf `index` in the tree of `size` leaves. */
  readonly inclusion: (index: number, size: number) => Promise<Buffer[]>
  /** Proves that the tree of `first` leaves is a prefix of the tree of `second` leaves. */
  readonly consistency: (first: number, second: number) => Promise<Buffer[]>
}

export function createReadTree(store: Pick<TileStore, 'tiles'>): ReadTree {
  async function hashesOf(ranges: readonly Range[]): Promise<Buffer[]> {
    const places = new Map<string, TilePlace>()
    for (const node of ranges.flatMap(nodesOf)) places.set(keyOf(tileOf(node)), tileOf(node))
    const tiles = new Map((await store.tiles([...places.values()])).map((tile) => [keyOf(tile), tile.hashes]))
    const hashOf = (node: Node) => {
      const hash = hashInTile(node, tiles.get(keyOf(tileOf(node))) ?? [])
      if (hash === undefined) throw new TreeDamaged(`the stored tree has no node ${node.level}/${node.index}`)
      return hash
    }
    return ranges.map((range) => hashOfRange(range, hashOf))
  }

  return {
    async rootAt(size) {
      const [root] = size === 0 ? [EMPTY_ROOT] : await hashesOf([{ from: 0, to: size }])
      return root ?? EMPTY_ROOT
    },
    inclusion: (index, size) => hashesOf(inclusionRanges(index, size)),
    consistency: async (first, second) => (first === 0 ? [] : hashesOf(consistencyRanges(first, second))),
  }
}

function keyOf({ level, index }: TilePlace): string {
  return `${level} ${index}`
}
