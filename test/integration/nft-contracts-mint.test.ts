/** Mints: each id once permanently, a batch completely or not at all, metadata by its digest, never past the limit. */
import { sha256 } from 'ethers/crypto'
import { toUtf8Bytes } from 'ethers/utils'
import t from 'tap'
import type { TokenStandard } from '../../src/nft/contracts/collection.ts'
import { encodeMintBatch } from '../../src/nft/contracts/encode-calls.ts'
import { parseNftTransferLog } from '../../src/nft/contracts/logs.ts'
import { cidOfDigest } from '../../src/nft/metadata/cid.ts'
import { type Collection, digestOf, type NftChain, strangerOf, withNftChain } from '../support/nft-chain.ts'

const BOTH = ['ERC721', 'ERC1155'] as const
const ZERO = `0x${'00'.repeat(20)}`
const UNAUTHORIZED = /^OwnableUnauthorizedAccount/

const mintCall = ({ config, request }: Collection, id: number, to: string, digest = digestOf(id), amount = 1) =>
  config.standard === 'ERC721' ? request('mint', to, id, digest) : request('mint', to, id, amount, digest)

const batchCall = ({ config, address }: Collection, firstId: number, recipients: readonly string[]) => {
  const tokens = recipients.map((recipient, i) => ({ recipient, amount: 1n, digest: digestOf(firstId + i) }))
  return { to: address, data: encodeMintBatch(config.standard, BigInt(firstId), tokens) }
}

const burnCall = ({ config, request }: Collection, holder: string, id: number) =>
  config.standard === 'ERC721' ? request('burn', id) : request('burn', holder, id, 1)

const uriMethod = (standard: TokenStandard) => (standard === 'ERC721' ? 'tokenURI' : 'uri')

async function held({ config, read }: Collection, holder: string, id: number): Promise<unknown> {
  return config.standard === 'ERC721' ? read('balanceOf', holder) : read('balanceOf', holder, id)
}

t.test("a token's URI is the CID that ipfs gives the same bytes, or that behind the base URI", async (t) => {
  const chain = await withNftChain(t)
  // `printf 'hello world' | ipfs add --cid-version=1 --raw-leaves`
  const cid = 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e'
  const digest = sha256(toUtf8Bytes('hello world'))
  for (const standard of BOTH) {
    const plain = await chain.collection({ standard, contractDigest: digest })
    const based = await chain.collection({ standard, contractDigest: digest, baseUri: 'https://example.com/m/' })
    for (const [collection, base] of [
      [plain, 'ipfs://'],
      [based, 'https://example.com/m/'],
    ] as const) {
      t.ok((await chain.send(chain.owner, mintCall(collection, 1, chain.alice, digest))).ok)
      t.equal(await collection.read(uriMethod(standard), 1), base + cid)
      t.equal(await collection.read('contractURI'), base + cid)
      t.equal(await collection.read('tokenDigest', 1), digest)
    }
  }
})

t.test('digests of every shape become the CID that the service stores the metadata under', async (t) => {
  const chain = await withNftChain(t)
  const collection = await chain.collection()
  const digests = [
    `0x${'ff'.repeat(32)}`,
    `0x${'00'.repeat(31)}02`,
    `0x80${'00'.repeat(31)}`,
    ...Array.from({ length: 9 }, (_, i) => digestOf(i)),
  ]
  for (const [i, digest] of digests.entries()) {
    t.ok((await chain.send(chain.owner, mintCall(collection, i + 1, chain.alice, digest))).ok)
    t.equal(await collection.read('tokenURI', i + 1), `ipfs://${cidOfDigest(digest)}`)
  }
})

t.test('an id is minted once, by any caller and method, burnt or not', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    t.ok((await collection.mint(7, chain.alice)).ok)
    const used = 'TokenIdUsed(tokenId: 7)'
    t.equal(await chain.refusal(chain.owner, mintCall(collection, 7, chain.bob)), used)
    t.equal(await chain.refusal(chain.owner, mintCall(collection, 7, chain.bob, digestOf(99))), used)
    t.equal(await chain.refusal(chain.owner, batchCall(collection, 6, [chain.bob, chain.bob])), used)
    t.ok((await chain.send(chain.alice, burnCall(collection, chain.alice, 7))).ok)
    t.equal(await held(collection, chain.alice, 7), 0n)
    t.equal(await chain.refusal(chain.owner, mintCall(collection, 7, chain.bob)), used, 'a burnt id stays used')
    t.notOk((await collection.mint(7, chain.bob)).ok)
    t.equal(await chain.refusal(chain.owner, collection.request('revoke', 7)), used)
  }
})

t.test('only the owner mints, and only what a token can be', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard })
    const refusal = (call: ReturnType<typeof mintCall>, from = chain.owner) => chain.refusal(from, call)
    t.match(await refusal(mintCall(collection, 1, chain.alice), chain.alice), UNAUTHORIZED)
    t.match(await refusal(batchCall(collection, 1, [chain.alice]), chain.alice), UNAUTHORIZED)
    t.match(await refusal(collection.request('revoke', 1), chain.alice), UNAUTHORIZED)
    t.equal(await refusal(mintCall(collection, 1, ZERO)), `${standard}InvalidReceiver(receiver: ${ZERO})`)
    for (const digest of [`0x${'00'.repeat(32)}`, `0x${'00'.repeat(31)}01`]) {
      t.equal(await refusal(mintCall(collection, 1, chain.alice, digest)), `InvalidDigest(digest: ${digest})`)
    }
    t.equal(await refusal(mintCall(collection, 0, chain.alice)), null, 'id 0 can be minted')
  }
  const many = await chain.collection({ standard: 'ERC1155' })
  t.equal(await chain.refusal(chain.owner, mintCall(many, 1, chain.alice, digestOf(1), 0)), 'InvalidAmount(amount: 0)')
})

t.test('a batch gives each token to its recipient, in one transaction, or nothing to anybody', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard, maxSupply: 103 })
    const recipients = Array.from({ length: 100 }, (_, i) => (i % 3 === 0 ? chain.alice : strangerOf(i)))
    const { ok, logs } = await chain.send(chain.owner, batchCall(collection, 11, recipients))
    t.ok(ok)
    const moves = logs.map(parseNftTransferLog)
    t.strictSame(
      moves,
      recipients.map((to, i) => ({
        standard,
        from: ZERO,
        to: to.toLowerCase(),
        tokens: [{ tokenId: BigInt(11 + i), amount: 1n }],
      })),
    )
    t.equal(await collection.read('tokenDigest', 110), digestOf(110))
    const four = [chain.alice, chain.alice, chain.alice, chain.alice]
    t.equal(
      await chain.refusal(chain.owner, batchCall(collection, 200, four)),
      'MaxSupplyExceeded(total: 104, maxSupply: 103)',
    )
    t.equal(
      await chain.refusal(chain.owner, batchCall(collection, 200, [chain.bob, ZERO])),
      `${standard}InvalidReceiver(receiver: ${ZERO})`,
    )
    t.notOk((await chain.send(chain.owner, batchCall(collection, 200, [chain.bob, ZERO]))).ok)
    t.equal(await held(collection, chain.bob, 200), 0n)
    t.match(await chain.refusal(chain.owner, batchCall(collection, 200, [])), /^InvalidBatchLength/)
  }
})

t.test('lists of unlike length are refused', async (t) => {
  const chain = await withNftChain(t)
  const [single, multi] = [await chain.collection(), await chain.collection({ standard: 'ERC1155' })]
  const to = [chain.alice, chain.bob]
  const digests = [digestOf(1), digestOf(2)]
  const short = [digestOf(1)]
  t.equal(
    await chain.refusal(chain.owner, single.request('mintBatch', 1, to, short)),
    'InvalidBatchLength(recipients: 2, amounts: 2, digests: 1)',
  )
  t.equal(
    await chain.refusal(chain.owner, multi.request('mintBatch', 1, to, [1], digests)),
    'InvalidBatchLength(recipients: 2, amounts: 1, digests: 2)',
  )
  t.equal(
    await chain.refusal(chain.owner, multi.request('mintBatch', 1, to, [1, 1], short)),
    'InvalidBatchLength(recipients: 2, amounts: 2, digests: 1)',
  )
})

t.test('the limit counts ids that were minted: a burnt one makes no room, a revoked one takes none', async (t) => {
  const chain = await withNftChain(t)
  for (const standard of BOTH) {
    const collection = await chain.collection({ standard, maxSupply: 2 })
    t.ok((await collection.mint(10, chain.alice, standard === 'ERC721' ? 1n : 500n)).ok)
    t.ok((await chain.send(chain.owner, collection.request('revoke', 11))).ok)
    t.equal(await collection.read('remainingSupply'), 1n)
    t.ok((await collection.mint(12, chain.alice)).ok)
    t.ok((await chain.send(chain.alice, burnCall(collection, chain.alice, 12))).ok)
    t.equal(await collection.read('remainingSupply'), 0n)
    t.equal(
      await chain.refusal(chain.owner, mintCall(collection, 13, chain.alice)),
      'MaxSupplyExceeded(total: 3, maxSupply: 2)',
    )
  }
})

t.test('a holder or an approved account burns a token, others do not', async (t) => {
  const chain: NftChain = await withNftChain(t)
  const collection = await chain.collection()
  for (const id of [1, 2]) t.ok((await collection.mint(id, chain.alice)).ok)
  t.match(await chain.refusal(chain.bob, burnCall(collection, chain.alice, 1)), /^ERC721InsufficientApproval/)
  t.match(
    await chain.refusal(chain.owner, burnCall(collection, chain.alice, 1)),
    /^ERC721InsufficientApproval/,
    'the issuer cannot burn the token of a holder',
  )
  t.ok((await chain.send(chain.alice, collection.request('approve', chain.bob, 1))).ok)
  t.ok((await chain.send(chain.bob, burnCall(collection, chain.alice, 1))).ok)
  t.ok((await chain.send(chain.alice, burnCall(collection, chain.alice, 2))).ok)
  for (const method of ['ownerOf', 'tokenURI', 'locked', 'frozen']) {
    t.match(await chain.refusal(chain.bob, collection.request(method, 1)), /^ERC721NonexistentToken/)
  }
  const multi = await chain.collection({ standard: 'ERC1155' })
  t.ok((await multi.mint(1, chain.alice, 5n)).ok)
  t.match(await chain.refusal(chain.owner, burnCall(multi, chain.alice, 1)), /^ERC1155MissingApprovalForAll/)
  t.match(await chain.refusal(chain.bob, multi.request('uri', 2)), /^TokenNotMinted/)
})
