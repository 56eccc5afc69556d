/** Series count their editions, dynamic tokens change until they are frozen, and non-transferable tokens stay. */
import { id as keccakText } from 'ethers/hash'
import { Wallet } from 'ethers/wallet'
import t from 'tap'
import {
  encodeFreeze,
  encodeMint,
  encodeMintBatch,
  encodeSafeBatchTransfer,
  encodeSetTokenDigest,
} from '../../src/nft/contracts/encode-calls.ts'
import { voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { digestOf, strangerOf, withNftChain } from '../support/nft-chain.ts'
import { encodeRedeem } from '../support/redeem-call.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
/** The public key of anvil's first account, which owns the collections here. */
const OWNER = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

t.test('a series releases in sequence, and an edition number counts what was released', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const { mint, read, request, address } = await chain.collection({ standard, kind: 'SERIES', maxSupply: 8 })
    const batch = (first: number, count: number) => {
      const tokens = Array.from({ length: count }, (_, i) => ({
        recipient: chain.alice,
        amount: 1n,
        digest: digestOf(first + i),
      }))
      return { to: address, data: encodeMintBatch(standard, BigInt(first), tokens) }
    }
    // Numbers 3, 6 and 7 belong to mints that failed before.
    for (const id of [1, 2, 4]) t.ok((await mint(id, chain.alice)).ok)
    t.ok((await mint(5, chain.bob)).ok)
    t.ok((await chain.send(chain.owner, batch(8, 3))).ok)
    const expected = [
      [1, 1],
      [2, 2],
      [4, 3],
      [5, 4],
      [8, 5],
      [9, 6],
      [10, 7],
    ] as const
    for (const [id, number] of expected) t.strictSame(await read('edition', id), [BigInt(number), 8n], `id ${id}`)
    for (const id of [3, 6, 7, 11]) {
      t.equal(await chain.refusal(chain.bob, request('edition', id)), `TokenNotMinted(tokenId: ${id})`)
    }
    for (const id of [3, 10]) {
      t.notOk((await mint(id, chain.alice)).ok)
      t.equal(await chain.refusal(chain.owner, batch(id, 1)), `NotInSequence(tokenId: ${id}, lastTokenId: 10)`)
    }
    t.ok((await mint(11, chain.alice)).ok, 'the eighth token of eight can be minted')
    t.equal(await chain.refusal(chain.owner, batch(12, 1)), 'MaxSupplyExceeded(total: 9, maxSupply: 8)')
  }
})

t.test(
  'a mint of a series skips at most a million ids, however it is made, so that no single one ends it',
  async (t) => {
    const chain = await withNftChain(t)
    for (const standard of BOTH) {
      const { address: to, mint, read } = await chain.collection({ standard, kind: 'SERIES' })
      const token = { recipient: chain.alice, amount: 1n, digest: digestOf(1) }
      const furthest = 1_000_001n
      for (const id of [furthest + 1n, 2n ** 48n - 1n]) {
        const refused = `TooManySkipped(tokenId: ${id}, lastTokenId: 0)`
        const voucher = { tokenId: id, recipient: null, amount: 1n, digest: token.digest, validUntil: null }
        const { domain, types, message } = voucherTypedData(chain.chainId, to, voucher)
        const signature = await OWNER.signTypedData(domain, types, message)
        for (const data of [
          encodeMint(standard, id, token),
          encodeMintBatch(standard, id, [token, token]),
          encodeRedeem(voucher, signature, chain.owner),
        ])
          t.equal(await chain.refusal(chain.owner, { to, data }), refused)
      }
      t.ok((await chain.send(chain.owner, { to, data: encodeMintBatch(standard, furthest, [token, token]) })).ok)
      t.strictSame(await read('edition', Number(furthest) + 1), [2n, 0n])
      const next = furthest + 1_000_002n
      t.equal(
        await chain.refusal(chain.owner, { to, data: encodeMint(standard, next + 1n, token) }),
        `TooManySkipped(tokenId: ${next + 1n}, lastTokenId: ${furthest + 1n})`,
      )
      t.ok((await mint(Number(next), chain.bob)).ok)
    }
  },
)

t.test('a series without a limit counts too, and other kinds have no editions', async (t) => {
  const chain = await withNftChain(t)
  const open = await chain.collection({ kind: 'SERIES' })
  t.notOk((await open.mint(0, chain.alice)).ok, 'edition 0 does not exist')
  t.ok((await open.mint(40, chain.alice)).ok)
  t.ok((await open.mint(41, chain.alice)).ok)
  t.strictSame(await open.read('edition', 41), [2n, 0n])
  t.ok((await chain.send(chain.alice, open.request('burn', 40))).ok)
  t.strictSame(await open.read('edition', 40), [1n, 0n], 'a burnt token keeps its edition number')
  const beyond = open.request('mint', chain.alice, 2n ** 48n, digestOf(1))
  t.equal(
    await chain.refusal(chain.owner, beyond),
    `TooManySkipped(tokenId: ${2n ** 48n}, lastTokenId: 41)`,
    'no mint ends a series',
  )
  const plain = await chain.collection()
  t.ok((await plain.mint(1, chain.alice)).ok)
  t.equal(await chain.refusal(chain.alice, plain.request('edition', 1)), 'NotASeries()')
})

t.test('a dynamic token is changed by its owner until it is frozen, with events for marketplaces', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const { mint, read, request, abi, address } = await chain.collection({ standard, kind: 'DYNAMIC' })
    const set = (id: bigint, n: number) => ({ to: address, data: encodeSetTokenDigest(id, digestOf(n)) })
    const freeze = (id: bigint) => ({ to: address, data: encodeFreeze(id) })
    for (const id of [1, 2]) t.ok((await mint(id, chain.alice)).ok)
    const uri = standard === 'ERC721' ? 'tokenURI' : 'uri'
    const before = await read(uri, 1)
    const updated = await chain.send(chain.owner, set(1n, 77))
    t.ok(updated.ok)
    t.not(await read(uri, 1), before)
    const events = (logs: typeof updated.logs) => logs.map((log) => abi.parseLog(log))
    const names = events(updated.logs).map((event) => event?.name)
    t.strictSame(names, standard === 'ERC721' ? ['MetadataUpdate'] : ['MetadataUpdate', 'URI'])
    t.equal(updated.logs[0]?.topics[0], keccakText('MetadataUpdate(uint256)'))
    t.equal(events(updated.logs)[0]?.args[0], 1n)
    if (standard === 'ERC1155') t.strictSame(events(updated.logs)[1]?.args.toArray(), [await read(uri, 1), 1n])
    t.equal(await read('frozen', 1), false)

    for (const call of [set(1n, 78), freeze(1n)]) {
      t.equal(await chain.refusal(chain.alice, call), `OwnableUnauthorizedAccount(account: ${chain.alice})`)
    }
    const frozen = await chain.send(chain.owner, freeze(1n))
    t.ok(frozen.ok)
    t.strictSame(events(frozen.logs).at(-1)?.args.toArray(), [await read(uri, 1), 1n])
    t.equal(events(frozen.logs).at(-1)?.name, 'PermanentURI')
    t.ok(events(frozen.logs).some((event) => event?.name === 'MetadataUpdate'))
    t.equal(await read('frozen', 1), true)
    for (const call of [set(1n, 78), freeze(1n)]) {
      t.equal(await chain.refusal(chain.owner, call), 'TokenFrozen(tokenId: 1)')
    }
    t.equal(await read('tokenDigest', 1), digestOf(77))
    t.ok((await chain.send(chain.owner, set(2n, 79))).ok, 'other tokens can still be changed')
    t.match(await chain.refusal(chain.owner, set(3n, 1)), /^(ERC721NonexistentToken|TokenNotMinted)\(tokenId: 3\)/)
    const none = request('setTokenDigest', 2, `0x${'00'.repeat(32)}`)
    t.match(await chain.refusal(chain.owner, none), /^InvalidDigest/)
  }
})

t.test('metadata of any other collection never changes, so it counts as frozen', async (t) => {
  const chain = await withNftChain(t)
  for (const kind of ['STANDARD', 'SERIES'] as const) {
    const { mint, read, request } = await chain.collection({ kind })
    t.ok((await mint(1, chain.alice)).ok)
    t.equal(await chain.refusal(chain.owner, request('setTokenDigest', 1, digestOf(2))), 'NotDynamic()')
    t.equal(await chain.refusal(chain.owner, request('freeze', 1)), 'NotDynamic()')
    t.equal(await read('frozen', 1), true)
  }
})

t.test('locked tokens report so, cannot be transferred, and can still be burnt (ERC-5192)', async (t) => {
  const chain = await withNftChain(t)
  const single = await chain.collection({ transferable: false })
  const minted = await single.mint(1, chain.alice)
  const locked = minted.logs.map((log) => single.abi.parseLog(log)).filter((event) => event?.name === 'Locked')
  t.strictSame(
    locked.map((event) => event?.args[0]),
    [1n],
  )
  t.equal(await single.read('locked', 1), true)
  t.ok((await chain.send(chain.alice, single.request('setApprovalForAll', chain.bob, true))).ok)
  for (const from of [chain.alice, chain.bob]) {
    const [move, safe] = ['transferFrom', 'safeTransferFrom(address,address,uint256)']
    for (const method of [move, safe]) {
      const call = single.request(method ?? '', chain.alice, strangerOf(1), 1)
      t.equal(await chain.refusal(from, call), 'TokenLocked(tokenId: 1)')
    }
  }
  t.ok((await chain.send(chain.alice, single.request('burn', 1))).ok)

  const multi = await chain.collection({ standard: 'ERC1155', transferable: false })
  for (const id of [1, 2]) t.ok((await multi.mint(id, chain.alice, 9n)).ok)
  t.equal(await multi.read('locked', 2), true)
  const safe = multi.request('safeTransferFrom', chain.alice, chain.bob, 2, 1, '0x')
  t.equal(await chain.refusal(chain.alice, safe), 'TokenLocked(tokenId: 2)')
  const items = [1n, 2n].map((tokenId) => ({ tokenId, amount: 1n }))
  const batch = { to: multi.address, data: encodeSafeBatchTransfer(chain.alice, chain.bob, items) }
  t.equal(await chain.refusal(chain.alice, batch), 'TokenLocked(tokenId: 1)')
  t.ok((await chain.send(chain.alice, multi.request('burn', chain.alice, 1, 4))).ok)
  t.equal(await multi.read('balanceOf', chain.alice, 1), 5n)

  const free = await chain.collection()
  const { logs } = await free.mint(1, chain.alice)
  t.equal(logs.length, 1, 'a transferable token emits no Locked event')
  t.equal(await free.read('locked', 1), false)
})
