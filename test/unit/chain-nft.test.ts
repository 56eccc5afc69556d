/**
 * Collections at the byte level: addresses by the formulas of their EIPs, calls by the standards' signatures, logs by
 * their fields.
 */
import { readFileSync } from 'node:fs'
import { AbiCoder, Interface } from 'ethers/abi'
import { keccak256 } from 'ethers/crypto'
import { id as keccakText, TypedDataEncoder } from 'ethers/hash'
import { concat, dataSlice, encodeRlp } from 'ethers/utils'
import fc from 'fast-check'
import t from 'tap'
import { DEPLOYMENT_PROXY } from '../../src/chain/deployment-proxy.ts'
import { TRANSFER_TOPIC } from '../../src/chain/erc20.ts'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import { COLLECTION_ABI, FACTORY_ABI, FACTORY_CREATION_CODE } from '../../src/nft/contracts/artefact.ts'
import {
  type CollectionConfig,
  collectionSalt,
  deployCollection,
  deployFactory,
  FACTORY_ADDRESS,
  IMPLEMENTATION_ADDRESS,
  predictCollectionAddress,
} from '../../src/nft/contracts/collection.ts'
import {
  encodeErc721Transfer,
  encodeFreeze,
  encodeMint,
  encodeMintBatch,
  encodeRevoke,
  encodeSafeBatchTransfer,
  encodeSafeTransfer,
  encodeSetTokenDigest,
  encodeTransferOwnership,
} from '../../src/nft/contracts/encode-calls.ts'
import { parseNftTransferLog, TRANSFER_BATCH_TOPIC, TRANSFER_SINGLE_TOPIC } from '../../src/nft/contracts/logs.ts'
import { voucherHash, voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { encodeRedeem } from '../support/redeem-call.ts'

const ALICE = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const BOB = '0x1111111111111111111111111111111111111111'
const ZERO = `0x${'00'.repeat(20)}`
const MAX_UINT256 = 2n ** 256n - 1n
const DIGEST = `0x${'ab'.repeat(32)}`
const CONFIG: CollectionConfig = {
  standard: 'ERC721',
  kind: 'DYNAMIC',
  name: 'Lighthouses',
  symbol: 'LGT',
  baseUri: '',
  contractDigest: DIGEST,
  owner: ALICE,
  royaltyRecipient: BOB,
  royaltyBps: 250,
  maxSupply: 12,
  transferable: true,
}

/** The signatures of the standards, and of the project's own calls, written by hand. */
const BY_HAND = new Interface([
  'function mint(address to, uint256 tokenId, bytes32 digest)',
  'function mint(address to, uint256 tokenId, uint256 amount, bytes32 digest)',
  'function mintBatch(uint256 firstId, address[] recipients, bytes32[] digests)',
  'function mintBatch(uint256 firstId, address[] recipients, uint256[] amounts, bytes32[] digests)',
  'function transferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)',
  'function setTokenDigest(uint256 tokenId, bytes32 digest)',
  'function freeze(uint256 tokenId)',
  'function revoke(uint256 tokenId)',
  'function transferOwnership(address newOwner)',
])

t.test('every call encodes its signature, argument by argument', (t) => {
  const token = { recipient: ALICE, amount: 5n, digest: DIGEST }
  const second = { recipient: BOB, amount: 6n, digest: `0x${'cd'.repeat(32)}` }
  const move = { from: ALICE, to: BOB, tokenId: 7n, amount: 5n }
  const digests = [token.digest, second.digest]
  for (const [data, signature, values] of [
    [encodeMint('ERC721', 7n, token), 'mint(address,uint256,bytes32)', [ALICE, 7, DIGEST]],
    [encodeMint('ERC1155', 7n, token), 'mint(address,uint256,uint256,bytes32)', [ALICE, 7, 5, DIGEST]],
    [
      encodeMint('ERC1155', MAX_UINT256, { ...token, amount: MAX_UINT256 }),
      'mint(address,uint256,uint256,bytes32)',
      [ALICE, MAX_UINT256, MAX_UINT256, DIGEST],
    ],
    [
      encodeMintBatch('ERC721', 7n, [token, second]),
      'mintBatch(uint256,address[],bytes32[])',
      [7, [ALICE, BOB], digests],
    ],
    [
      encodeMintBatch('ERC1155', 7n, [token, second]),
      'mintBatch(uint256,address[],uint256[],bytes32[])',
      [7, [ALICE, BOB], [5, 6], digests],
    ],
    [encodeErc721Transfer(move), 'transferFrom', [ALICE, BOB, 7]],
    [encodeSafeTransfer('ERC721', move), 'safeTransferFrom(address,address,uint256)', [ALICE, BOB, 7]],
    [
      encodeSafeTransfer('ERC1155', move),
      'safeTransferFrom(address,address,uint256,uint256,bytes)',
      [ALICE, BOB, 7, 5, '0x'],
    ],
    [
      encodeSafeBatchTransfer(ALICE, BOB, [move, { tokenId: 8n, amount: 1n }]),
      'safeBatchTransferFrom',
      [ALICE, BOB, [7, 8], [5, 1], '0x'],
    ],
    [encodeSetTokenDigest(7n, DIGEST), 'setTokenDigest', [7, DIGEST]],
    [encodeFreeze(7n), 'freeze', [7]],
    [encodeRevoke(7n), 'revoke', [7]],
    [encodeTransferOwnership(BOB), 'transferOwnership', [BOB]],
  ] as const) {
    t.equal(data, BY_HAND.encodeFunctionData(signature, values), signature)
  }
  t.end()
})

t.test('addresses are the hashes that CREATE2 and CREATE make of the code', (t) => {
  const create2 = (deployer: string, salt: string, code: string) =>
    dataSlice(keccak256(concat(['0xff', deployer, salt, keccak256(code)])), 12)
  t.equal(FACTORY_ADDRESS.toLowerCase(), create2(DEPLOYMENT_PROXY, `0x${'00'.repeat(32)}`, FACTORY_CREATION_CODE))
  for (const [standard, nonce] of [
    ['ERC721', '0x01'],
    ['ERC1155', '0x02'],
  ] as const) {
    const address = dataSlice(keccak256(encodeRlp([FACTORY_ADDRESS, nonce])), 12)
    t.equal(IMPLEMENTATION_ADDRESS[standard].toLowerCase(), address)
  }
  const { to, data } = deployFactory()
  t.strictSame([to, data], [DEPLOYMENT_PROXY, concat([`0x${'00'.repeat(32)}`, FACTORY_CREATION_CODE])])

  const salt = collectionSalt('col_1')
  t.equal(salt, keccakText('col_1'))
  const code = concat([
    '0x363d3d373d3d3d363d73',
    IMPLEMENTATION_ADDRESS.ERC721,
    '0x5af43d82803e903d91602b57fd5bf3',
    DIGEST,
    BOB,
    '0x00fa0201',
    '0x00000000000c',
    '0x0b03',
    Buffer.from('LighthousesLGT'),
  ])
  const init = concat([`0x6100${(code.length / 2 - 1).toString(16)}`, '0x3d81600a3d39f3', code])
  const callerSalt = keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'bytes32'], [ALICE, salt]))
  t.equal(predictCollectionAddress(CONFIG, salt, ALICE).toLowerCase(), create2(FACTORY_ADDRESS, callerSalt, init))
  t.end()
})

t.test('the documentation names the addresses that follow from the code', (t) => {
  const page = readFileSync(new URL('../../docs/nft-contracts.md', import.meta.url), 'utf8')
  for (const [contract, address] of [
    ['BursarFactory', FACTORY_ADDRESS],
    ['BursarERC721', IMPLEMENTATION_ADDRESS.ERC721],
    ['BursarERC1155', IMPLEMENTATION_ADDRESS.ERC1155],
  ]) {
    t.ok(page.includes(`| ${contract} | \`${address}\` |`), `the page has the row ${contract} | ${address}`)
  }
  t.end()
})

t.test('a deployment contains the config, with defaults for what is not given', (t) => {
  const decode = (config: CollectionConfig) => {
    const { to, data } = deployCollection(config, collectionSalt('col_1'))
    t.equal(to, FACTORY_ADDRESS)
    return FACTORY_ABI.decodeFunctionData('deploy', data).toArray(true)
  }
  t.strictSame(decode(CONFIG), [
    0n,
    collectionSalt('col_1'),
    ['Lighthouses', 'LGT', '', DIGEST, ALICE, BOB, 250n, 12n, true, 2n],
  ])
  const bare = {
    standard: 'ERC1155',
    kind: 'STANDARD',
    contractDigest: null,
    royaltyRecipient: null,
    maxSupply: null,
  } as const
  t.strictSame(decode({ ...CONFIG, ...bare, royaltyBps: 0, transferable: false }), [
    1n,
    collectionSalt('col_1'),
    ['Lighthouses', 'LGT', '', `0x${'00'.repeat(32)}`, ALICE, ZERO, 0n, 0n, false, 0n],
  ])
  t.end()
})

t.test('a voucher is the typed data of its EIP-712 type, as JSON can carry it', (t) => {
  const voucher = { tokenId: 2n ** 255n, recipient: null, amount: 3n, digest: DIGEST, validUntil: null }
  const typed = voucherTypedData(137, BOB, voucher)
  t.strictSame(JSON.parse(JSON.stringify(typed)), typed)
  const type = 'Voucher(uint256 tokenId,address recipient,uint256 amount,bytes32 digest,uint256 validUntil)'
  t.equal(TypedDataEncoder.from(typed.types).encodeType('Voucher'), type)
  const words = ['bytes32', 'uint256', 'address', 'uint256', 'bytes32', 'uint256']
  const struct = AbiCoder.defaultAbiCoder().encode(words, [keccakText(type), 2n ** 255n, ZERO, 3n, DIGEST, 0])
  t.equal(
    voucherHash(typed),
    keccak256(concat(['0x1901', TypedDataEncoder.hashDomain(typed.domain), keccak256(struct)])),
  )
  const [sent, signature, to] = COLLECTION_ABI.ERC1155.decodeFunctionData(
    'redeem',
    encodeRedeem(voucher, '0x1234', ALICE),
  )
  t.strictSame([sent.toArray(), signature, to], [[2n ** 255n, ZERO, 3n, DIGEST, 0n], '0x1234', ALICE])
  t.end()
})

const EVENTS = new Interface([
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
])

function logOf(event: string, values: readonly unknown[]): { topics: string[]; data: string } {
  const { topics, data } = EVENTS.encodeEventLog(event, values)
  return { topics: topics.filter((topic) => topic !== null).flat(), data }
}

t.test('recipients and amounts are read from the logs of both standards', (t) => {
  const both = { from: ALICE.toLowerCase(), to: BOB }
  t.strictSame(parseNftTransferLog(logOf('Transfer', [ALICE, BOB, 2n ** 255n])), {
    standard: 'ERC721',
    ...both,
    tokens: [{ tokenId: 2n ** 255n, amount: 1n }],
  })
  t.strictSame(parseNftTransferLog(logOf('TransferSingle', [BOB, ALICE, BOB, 4n, 9n])), {
    standard: 'ERC1155',
    ...both,
    tokens: [{ tokenId: 4n, amount: 9n }],
  })
  t.strictSame(parseNftTransferLog(logOf('TransferBatch', [BOB, ALICE, BOB, [4n, 4n], [9n, 0n]])), {
    standard: 'ERC1155',
    ...both,
    tokens: [
      { tokenId: 4n, amount: 9n },
      { tokenId: 4n, amount: 0n },
    ],
  })
  t.strictSame(parseNftTransferLog(logOf('TransferBatch', [BOB, ALICE, BOB, [], []]))?.tokens, [])
  t.end()
})

t.test('a log of neither standard is not a transfer, whatever bytes it has', (t) => {
  const single = logOf('TransferSingle', [BOB, ALICE, BOB, 4n, 9n])
  const batch = logOf('TransferBatch', [BOB, ALICE, BOB, [4n], [9n]])
  const erc721 = logOf('Transfer', [ALICE, BOB, 1n])
  const erc20 = { topics: erc721.topics.slice(0, 3), data: `0x${'00'.repeat(32)}` }
  const pointing = (offset: bigint) => ({
    ...batch,
    data: `0x${offset.toString(16).padStart(64, '0')}${batch.data.slice(66)}`,
  })
  for (const log of [
    erc20,
    { ...erc721, topics: [] },
    { ...single, topics: single.topics.slice(0, 3) },
    { ...single, data: single.data.slice(0, 66) },
    { ...batch, data: batch.data.slice(0, -64) },
    { ...batch, data: logOf('TransferBatch', [BOB, ALICE, BOB, [4n, 5n], [9n]]).data },
    pointing(0n),
    pointing(33n),
    pointing(2n ** 200n),
    { ...single, topics: [keccakText('Other(address,address,address,uint256,uint256)'), ...single.topics.slice(1)] },
  ]) {
    t.equal(parseNftTransferLog(log), null)
  }
  const hex = fc.uint8Array({ maxLength: 260 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)
  const topic = fc.constantFrom(TRANSFER_TOPIC, TRANSFER_SINGLE_TOPIC, TRANSFER_BATCH_TOPIC, '0x')
  fc.assert(
    fc.property(fc.array(topic, { maxLength: 5 }), hex, (topics, data) => {
      const parsed = parseNftTransferLog({ topics, data })
      return parsed === null || parsed.tokens.length <= Math.max(1, data.length / 64)
    }),
  )
  t.end()
})

t.test('every error of our contracts is read by its name', (t) => {
  const names: string[] = []
  for (const abi of [FACTORY_ABI, COLLECTION_ABI.ERC721, COLLECTION_ABI.ERC1155]) {
    abi.forEachError((error) => {
      const values = error.inputs.map(({ type }) => (type === 'address' ? ALICE : type === 'bytes32' ? DIGEST : '7'))
      const decoded = decodeRevert(abi.encodeErrorResult(error, values))
      t.equal(decoded?.name, error.name)
      names.push(error.name)
    })
  }
  for (const name of [
    'TokenIdUsed',
    'MaxSupplyExceeded',
    'VoucherExpired',
    'OwnableUnauthorizedAccount',
    'RoyaltyTooHigh',
  ]) {
    t.ok(names.includes(name))
  }
  t.end()
})
