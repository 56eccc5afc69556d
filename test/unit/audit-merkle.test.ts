/**
 * The tree of RFC 6962: known roots and proofs, and proofs of trees of every shape, which no other leaf or root passes.
 */
import t from 'tap'
import { EMPTY_ROOT, leafHash } from '../../src/audit/merkle/hashes.ts'
import { consistencyRanges, hashOfRange, inclusionRanges, type Node } from '../../src/audit/merkle/ranges.ts'
import { createTileBuilder, hashInTile, type Tile, tileOf, unfinishedTiles } from '../../src/audit/merkle/tiles.ts'
import { extendsTree, includes } from '../../src/audit/merkle/verify-proof.ts'

/** Leaves and roots of Certificate Transparency's tests, shared by implementations of RFC 6962. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** A tree grown in steps, stored in tiles like in a database. */
function growTree(leaves: readonly Uint8Array[], step: number) {
  const tiles = new Map<string, Tile>()
  for (let from = 0; from < leaves.length; from += step) {
    const unfinished = unfinishedTiles(from).map(({ level, index }) => tiles.get(`${level} ${index}`) as Tile)
    const builder = createTileBuilder(from, unfinished)
    for (const leaf of leaves.slice(from, from + step)) builder.append(leaf)
    for (const tile of builder.takeChanged()) tiles.set(`${tile.level} ${tile.index}`, tile)
  }
  const hashOf = (node: Node) => {
    const { level, index } = tileOf(node)
    const hash = hashInTile(node, tiles.get(`${level} ${index}`)?.hashes ?? [])
    if (hash === undefined) throw new Error(`no hash of ${node.level} ${node.index}`)
    return hash
  }
  const rootAt = (size: number) => hashOfRange({ from: 0, to: size }, hashOf)
  return { hashOf, rootAt }
}

t.test('roots and proofs equal those of other implementations', async (t) => {
  const tree = growTree(
    LEAVES.map((hex) => leafHash(Buffer.from(hex, 'hex'))),
    3,
  )
  t.equal(EMPTY_ROOT.toString('hex'), ROOTS[0])
  t.strictSame(
    ROOTS.map((_, size) => tree.rootAt(size).toString('hex')),
    ROOTS,
  )
  const proofOf = (ranges: { from: number; to: number }[]) =>
    ranges.map((range) => hashOfRange(range, tree.hashOf).toString('hex'))
  t.strictSame(proofOf(inclusionRanges(0, 8)), [
    '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
    '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  ])
  t.strictSame(proofOf(inclusionRanges(5, 8)), [
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    ROOTS[4],
  ])
  t.strictSame(proofOf(inclusionRanges(2, 3)), [ROOTS[2]])
  t.strictSame(proofOf(consistencyRanges(1, 1)), [])
  t.strictSame(proofOf(consistencyRanges(6, 8)), [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    ROOTS[4],
  ])
})

const leaves = Array.from({ length: 70 }, (_, index) => leafHash(`leaf ${index}`))
const small = growTree(leaves, 7)

t.test('each leaf is proved in each tree, and nowhere else', async (t) => {
  let proofs = 0
  let refused = 0
  for (let size = 1; size <= leaves.length; size += 1) {
    const root = small.rootAt(size)
    for (let index = 0; index < size; index += 1) {
      const path = inclusionRanges(index, size).map((range) => hashOfRange(range, small.hashOf))
      const leaf = leaves[index] as Buffer
      if (includes({ index, size, root }, leaf, path)) proofs += 1
      const lies = [
        includes({ index, size, root }, leafHash('another'), path),
        includes({ index: index + 1, size, root }, leaf, path),
        includes({ index, size, root: leafHash('a root') }, leaf, path),
        includes({ index, size, root }, leaf, [...path, leaf]),
        path.length > 0 && includes({ index, size, root }, leaf, path.slice(1)),
      ]
      refused += lies.filter((believed) => !believed).length
    }
  }
  t.equal(proofs, (70 * 71) / 2)
  t.equal(refused, 5 * proofs)
})

t.test('each tree is proved to be a prefix of each later tree, and no other tree is', async (t) => {
  const other = growTree([leafHash('another'), ...leaves.slice(1)], 70)
  for (let second = 1; second <= leaves.length; second += 1) {
    for (let first = 1; first <= second; first += 1) {
      const proof = consistencyRanges(first, second).map((range) => hashOfRange(range, small.hashOf))
      const heads = [
        { size: first, root: small.rootAt(first) },
        { size: second, root: small.rootAt(second) },
      ] as const
      if (!extendsTree(...heads, proof)) t.fail(`the proof that ${first} leaves are a prefix of ${second} is refused`)
      const forged = { size: first, root: other.rootAt(first) }
      if (extendsTree(forged, heads[1], proof)) t.fail(`another ${first} is accepted as a prefix of ${second}`)
      if (first < second && extendsTree(heads[0], { size: second, root: other.rootAt(second) }, proof))
        t.fail(`${first} leaves are accepted as a prefix of another tree of ${second}`)
      if (extendsTree(...heads, [...proof, heads[0].root])) t.fail(`an over-long proof for ${first} is accepted`)
    }
  }
  t.notOk(extendsTree({ size: 3, root: small.rootAt(3) }, { size: 2, root: small.rootAt(2) }, []))
})

t.test('a tree of several levels of tiles is the same in whatever steps it grew', async (t) => {
  const many = Array.from({ length: 66_000 }, (_, index) => leafHash(String(index)))
  const once = growTree(many, many.length)
  const often = growTree(many, 4_999)
  for (const size of [255, 256, 257, 65_535, 65_536, 65_537, 66_000]) {
    t.strictSame(often.rootAt(size), once.rootAt(size), `the root of ${size} leaves does not depend on the steps`)
    const index = size - 2
    const path = inclusionRanges(index, size).map((range) => hashOfRange(range, often.hashOf))
    t.ok(includes({ index, size, root: once.rootAt(size) }, many[index] as Buffer, path), `leaf ${index} is in ${size}`)
  }
  t.strictSame(unfinishedTiles(65_536), [{ level: 2, index: 0 }])
})
