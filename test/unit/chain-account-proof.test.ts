/** A balance is proven under a state root that other code than ours makes, and whatever is altered of a proof disproves it. */
import { createMerkleProof, createMPT, type MerklePatriciaTrie } from '@ethereumjs/mpt'
import { encodeRlp, getBytes, hexlify, keccak256, toBeArray } from 'ethers'
import t from 'tap'
import { provenBalance } from '../../src/chain/account-proof.ts'

const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const NO_CODE = keccak256('0x')

const balanceOf = (n: number) => 10n ** 18n * BigInt(n) + BigInt(n % 7)
const keyOf = (address: string) => getBytes(keccak256(address))

/** A state with accounts 1 … count; account 0 has no balance. */
async function stateOf(count: number) {
  const trie = await createMPT()
  for (let n = 0; n < count; n++) {
    const balance = balanceOf(n) === 0n ? '0x' : hexlify(toBeArray(balanceOf(n)))
    await trie.put(keyOf(addressOf(n)), getBytes(encodeRlp(['0x05', balance, EMPTY_ROOT, NO_CODE])))
  }
  return { trie, root: hexlify(trie.root()) }
}
async function proofOf(trie: MerklePatriciaTrie, address: string): Promise<string[]> {
  return (await createMerkleProof(trie, keyOf(address))).map((node) => hexlify(node))
}

t.test('the balance of each account, and none of accounts that do not exist', async (t) => {
  for (const count of [1, 2, 60]) {
    const { trie, root } = await stateOf(count)
    for (let n = 0; n < Math.min(count, 20); n++)
      t.equal(provenBalance(root, addressOf(n), await proofOf(trie, addressOf(n))).balance, balanceOf(n))
    for (let n = 10_000; n < 10_020; n++)
      t.equal(provenBalance(root, addressOf(n), await proofOf(trie, addressOf(n))).balance, 0n)
  }
})

t.test('a proof of another account, of another root, or with anything altered is none', async (t) => {
  const { trie, root } = await stateOf(100)
  const other = await stateOf(101)
  const nodes = await proofOf(trie, addressOf(7))
  const refused = (shown: unknown, at = root, address = addressOf(7)) =>
    t.equal(provenBalance(at, address, shown).balance, null)
  refused(await proofOf(trie, addressOf(8)))
  refused(nodes, other.root)
  refused(nodes.slice(0, -1))
  refused(nodes.slice(1))
  refused([...nodes, nodes.at(-1)])
  refused([...nodes].reverse())
  for (const [i, node] of nodes.entries())
    for (let place = 2; place < node.length; place += 31) {
      const digit = node[place] === '1' ? '2' : '1'
      refused(nodes.with(i, `${node.slice(0, place)}${digit}${node.slice(place + 1)}`))
    }
  for (const shown of [null, {}, '0x', [], [null], ['0x'], ['0xc0'], ['zz'], [`0x${'00'.repeat(601)}`]]) refused(shown)
  refused(Array.from({ length: 66 }, () => nodes[0]))
  refused(nodes, root, '0xnothing')
  for (const none of [undefined, null, 5, '']) t.equal(provenBalance(none, addressOf(7), nodes).balance, null)
})
