/** Receivers that are contracts: without a receiver function, refusing, lying, and calling back. */
import t from 'tap'
import {
  encodeErc721Transfer,
  encodeMintBatch,
  encodeSafeBatchTransfer,
  encodeSafeTransfer,
} from '../../src/nft/contracts/encode-calls.ts'
import { type Collection, digestOf, type NftChain, strangerOf, withNftChain } from '../support/nft-chain.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
const compiled = compileSolidity('Receivers.sol')

function deploy(chain: NftChain, name: string, values: readonly unknown[] = []): Promise<string> {
  const { abi, bytecode } = contractIn(compiled, name)
  return chain.deploy(abi, bytecode, values)
}

const safe = ({ config, address }: Collection, from: string, to: string, tokenId: bigint, amount = 1n) => ({
  to: address,
  data: encodeSafeTransfer(config.standard, { from, to, tokenId, amount }),
})

t.test('a safe transfer reaches accounts and receivers only', async (t) => {
  const chain = await withNftChain(t)
  const [none, good, reverting, wrong] = [
    await deploy(chain, 'NoReceiver'),
    await deploy(chain, 'GoodReceiver'),
    await deploy(chain, 'RevertingReceiver'),
    await deploy(chain, 'WrongReceiver'),
  ]
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    for (const id of [1, 2]) t.ok((await collection.mint(id, chain.alice)).ok)
    const refusal = (to: string) => chain.refusal(chain.alice, safe(collection, chain.alice, to, 1n))
    t.equal(await refusal(none), `${standard}InvalidReceiver(receiver: ${none})`)
    t.equal(await refusal(wrong), `${standard}InvalidReceiver(receiver: ${wrong})`)
    t.equal(await refusal(reverting), 'not today')
    t.notOk((await chain.send(chain.alice, safe(collection, chain.alice, none, 1n))).ok)
    t.ok((await chain.send(chain.alice, safe(collection, chain.alice, good, 1n))).ok)
    t.ok((await chain.send(chain.alice, safe(collection, chain.alice, strangerOf(1), 2n))).ok)
    if (standard === 'ERC721') t.equal(await collection.read('ownerOf', 1), good)
    else t.equal(await collection.read('balanceOf', good, 1), 1n)
  }
})

t.test('many ERC-1155 tokens go to a receiver at once, or none', async (t) => {
  const chain = await withNftChain(t)
  const [good, reverting] = [await deploy(chain, 'GoodReceiver'), await deploy(chain, 'RevertingReceiver')]
  const { mint, read, address } = await chain.collection({ standard: 'ERC1155' })
  for (const id of [1, 2, 3]) t.ok((await mint(id, chain.alice, 10n)).ok)
  const batch = (to: string, amounts: readonly bigint[]) => {
    const items = amounts.map((amount, i) => ({ tokenId: BigInt(i + 1), amount }))
    return { to: address, data: encodeSafeBatchTransfer(chain.alice, to, items) }
  }
  t.equal(await chain.refusal(chain.alice, batch(reverting, [1n, 1n])), 'not today')
  t.match(
    await chain.refusal(chain.alice, batch(good, [1n, 1n, 11n])),
    /^ERC1155InsufficientBalance\(.*balance: 10, needed: 11, tokenId: 3\)/,
  )
  t.ok((await chain.send(chain.alice, batch(good, [1n, 2n, 10n]))).ok)
  t.strictSame(await read('balanceOfBatch', [good, good, good, chain.alice], [1, 2, 3, 3]), [1n, 2n, 10n, 0n])
})

t.test('a plain ERC-721 transfer and a mint do not call the receiver', async (t) => {
  const chain = await withNftChain(t)
  const receivers = [
    await deploy(chain, 'NoReceiver'),
    await deploy(chain, 'RevertingReceiver'),
    await deploy(chain, 'WrongReceiver'),
    await deploy(chain, 'ReenteringReceiver', [chain.bob]),
  ]
  const single = await chain.collection()
  t.ok((await single.mint(1, chain.alice)).ok)
  const [none = ''] = receivers
  const plain = encodeErc721Transfer({ from: chain.alice, to: none, tokenId: 1n, amount: 1n })
  t.ok((await chain.send(chain.alice, { to: single.address, data: plain })).ok)
  t.equal(await single.read('ownerOf', 1), none)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    const tokens = receivers.map((recipient, i) => ({ recipient, amount: 1n, digest: digestOf(i) }))
    const data = encodeMintBatch(standard, 1n, tokens)
    t.ok((await chain.send(chain.owner, { to: collection.address, data })).ok)
  }
})

t.test('a receiver that calls back can transfer what it got, and gets nothing twice', async (t) => {
  const chain = await withNftChain(t)
  const accomplice = strangerOf(13)
  const reentering = contractIn(compiled, 'ReenteringReceiver').abi
  for (const standard of BOTH) {
    const receiver = await deploy(chain, 'ReenteringReceiver', [accomplice])
    const collection = await chain.collection({ standard })
    t.ok((await collection.mint(1, chain.alice, standard === 'ERC721' ? 1n : 10n)).ok)
    t.ok((await collection.mint(2, chain.alice)).ok)
    const { ok, logs } = await chain.send(chain.alice, safe(collection, chain.alice, receiver, 1n))
    t.ok(ok)
    t.equal(logs.length, 2, 'the token has two transfers: to the receiver and to its accomplice')
    t.equal(await chain.read(reentering, receiver, 'calls'), 1n)
    t.equal(await chain.read(reentering, receiver, 'tookTwice'), false)
    if (standard === 'ERC721') {
      t.equal(await collection.read('ownerOf', 1), accomplice)
      t.strictSame(await balances(collection, [chain.alice, receiver, accomplice]), [1n, 0n, 1n])
    } else {
      const held = await collection.read('balanceOfBatch', [chain.alice, receiver, accomplice], [1, 1, 1])
      t.strictSame(held, [9n, 0n, 1n])
    }
  }
})

t.test('only the holder and approved accounts move a token', async (t) => {
  const chain = await withNftChain(t)
  const [single, multi] = [await chain.collection(), await chain.collection({ standard: 'ERC1155' })]
  t.ok((await single.mint(1, chain.alice)).ok)
  t.ok((await multi.mint(1, chain.alice, 5n)).ok)
  const call = encodeErc721Transfer({ from: chain.alice, to: chain.bob, tokenId: 1n, amount: 1n })
  for (const thief of [chain.bob, chain.owner]) {
    const taken = await chain.refusal(thief, { to: single.address, data: call })
    t.equal(taken, `ERC721InsufficientApproval(operator: ${thief}, tokenId: 1)`)
    const many = await chain.refusal(thief, safe(multi, chain.alice, chain.bob, 1n))
    t.equal(many, `ERC1155MissingApprovalForAll(operator: ${thief}, owner: ${chain.alice})`)
  }
  t.match(await chain.refusal(chain.bob, safe(single, chain.bob, chain.owner, 1n)), /^ERC721InsufficientApproval/)
  t.match(await chain.refusal(chain.alice, safe(single, chain.alice, chain.bob, 2n)), /^ERC721NonexistentToken/)
  t.match(await chain.refusal(chain.alice, safe(multi, chain.alice, chain.bob, 1n, 6n)), /^ERC1155InsufficientBalance/)
  t.ok((await chain.send(chain.alice, single.request('approve', chain.bob, 1))).ok)
  t.ok((await chain.send(chain.bob, { to: single.address, data: call })).ok)
  t.equal(await single.read('ownerOf', 1), chain.bob)
})

async function balances({ read }: Collection, holders: readonly string[]): Promise<unknown[]> {
  return Promise.all(holders.map((holder) => read('balanceOf', holder)))
}
