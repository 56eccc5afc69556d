/**
 * A block is proven under its hash for every type and fork of the three networks, and nothing that a node merely says is
 * taken from it. The blocks are real ones (test/vectors), or made by other code than ours.
 */
import { readFileSync } from 'node:fs'
import { concat, encodeRlp, keccak256, Transaction, type TransactionLike, toBeArray, toBeHex, Wallet } from 'ethers'
import t from 'tap'
import { headerHash, provenBlock } from '../../src/chain/block-proof.ts'
import type { Block } from '../../src/chain/blocks.ts'
import { EMPTY_ROOT, orderedRoot } from '../../src/chain/ordered-root.ts'
import { lacksBytes, type Raw, senderOf, transactionBytes } from '../../src/chain/transaction-bytes.ts'
import { recoveredAddress } from '../../src/keys/recovered-address.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  hash,
  type OracleEntry,
  oracleBlock,
  type RawParts,
  shownTransaction,
  trieRoot,
} from '../support/oracle-block.ts'

const key = new Wallet(`0x${'11'.repeat(32)}`)
const GWEI = 10n ** 9n
const TO = `0x${'22'.repeat(20)}`
const NOBODY = `0x${'00'.repeat(20)}`
const CALL = { chainId: 137, nonce: 3, to: TO, value: 5n, gasLimit: 21_000n, data: '0xabcd' }
const FEES = { maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: 2n * GWEI }
const ACCESS = { accessList: [{ address: TO, storageKeys: [hash('slot')] }] }
const LOG = { address: TO, topics: [hash('topic'), hash('other')], data: '0x1234' }
const AUTHORIZATION = key.authorizeSync({ address: TO, nonce: 4, chainId: 137 })
const SENT: Readonly<Record<string, TransactionLike>> = {
  'legacy without a chain id': { ...CALL, type: 0, chainId: 0, gasPrice: 7n },
  legacy: { ...CALL, type: 0, gasPrice: 7n * GWEI },
  'access list': { ...CALL, ...ACCESS, type: 1, gasPrice: 7n * GWEI },
  'dynamic fee': { ...CALL, ...FEES, ...ACCESS, type: 2 },
  'creation of a contract': { ...CALL, ...FEES, type: 2, to: null, data: '0x6000' },
  blob: { ...CALL, ...FEES, type: 3, maxFeePerBlobGas: 3n, blobVersionedHashes: [`0x01${'33'.repeat(31)}`] },
  'set code': { ...CALL, ...FEES, type: 4, authorizationList: [AUTHORIZATION] },
}
const LONDON = { baseFeePerGas: '0x12a05f200' } // 5 gwei
const CANCUN = { ...LONDON, withdrawalsRoot: EMPTY_ROOT, blobGasUsed: '0x20000', excessBlobGas: '0x0' }
const PRAGUE = { ...CANCUN, parentBeaconBlockRoot: hash('beacon'), requestsHash: hash('requests') }
const HEADERS: Readonly<Record<string, Raw>> = {
  'before London': {},
  'of London, and of polygon': LONDON,
  'of Shanghai': { ...LONDON, withdrawalsRoot: EMPTY_ROOT },
  'of BSC before Bohr': CANCUN,
  'of Prague, and of BSC': { ...PRAGUE, parentBeaconBlockRoot: hash('beacon') },
  'of Amsterdam': { ...PRAGUE, blockAccessListHash: hash('accesses'), slotNumber: '0x101' },
}

function entry(signed: Transaction, rest: Partial<OracleEntry> = {}): OracleEntry {
  return { shown: shownTransaction(signed), bytes: signed.serialized, price: 7n * GWEI, gasUsed: 21_000, ...rest }
}

async function signed(fields: TransactionLike): Promise<Transaction> {
  return Transaction.from(await key.signTransaction(fields))
}

function proven({ block, transactions, receipts }: RawParts): Block {
  const proof = provenBlock(block, transactions, receipts, recoveredAddress)
  if (proof.block === null) throw new Error(proof.disproof)
  return proof.block
}

function vector(name: string) {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), 'utf8'))
}

function disproof(block: Raw, transactions: readonly Raw[], receipts: readonly Raw[]): string | null {
  return provenBlock(block, transactions, receipts, null).disproof
}

t.test('a block of all types is proven, and says what its receipts and signatures say', async (t) => {
  const all = await Promise.all(Object.values(SENT).map(signed))
  const prices = [7n, 7n * GWEI]
  const parts = await oracleBlock(PRAGUE, [
    ...all.map((one, i) =>
      entry(one, { price: prices[i] ?? 7n * GWEI, status: i === 1 ? 0 : 1, logs: i % 2 === 0 ? [LOG, LOG] : [] }),
    ),
  ])
  t.equal(disproof(parts.block, parts.transactions, parts.receipts), null)
  const block = proven(parts)
  t.match(block, { number: 16, hash: parts.block.hash, parentHash: parts.block.parentHash, baseFeePerGas: 5n * GWEI })
  t.strictSame(
    block.transactions.map(({ from }) => from),
    all.map(() => key.address.toLowerCase()),
  )
  t.strictSame(
    block.transactions.map(({ status }) => status),
    all.map((_, i) => (i === 1 ? 'reverted' : 'success')),
  )
  t.ok(block.transactions.every(({ gasUsed }) => gasUsed === 21_000n))
  t.strictSame(
    block.transactions.map(({ effectiveGasPrice }) => effectiveGasPrice),
    all.map((_, i) => prices[i] ?? 7n * GWEI),
  )
  t.strictSame(
    block.transactions.flatMap(({ logs }) => logs.map(({ logIndex }) => logIndex)),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
  t.match(block.transactions[3], { hash: all[3]?.hash, to: TO, nonce: 3, value: 5n, input: '0xabcd', offer: FEES })
  t.match(block.transactions[4], { to: null, input: '0x6000' })
  t.equal(block.transactions[6]?.authorizations.length, 1)
})

t.test('the base fee caps the tip at the fee that was signed', async (t) => {
  const dear = { baseFeePerGas: '0x1dcd65000' } // 8 gwei: 8 + 2 is more than 9
  const parts = await oracleBlock(dear, [entry(await signed(SENT['dynamic fee'] ?? {}), { price: 9n * GWEI })])
  t.equal(proven(parts).transactions[0]?.effectiveGasPrice, 9n * GWEI)
})

t.test('a block without transactions is proven, and one from which they were withheld is not', async (t) => {
  const { block } = await oracleBlock(LONDON, [])
  t.equal(disproof(block, [], []), null)
  const full = await oracleBlock(LONDON, [entry(await signed(SENT.legacy ?? {}))])
  t.equal(disproof(full.block, [], []), 'block 0x10: it has another root of its transactions')
  t.equal(disproof(full.block, full.transactions, []), 'block 0x10: it has 1 transactions and 0 receipts')
})

for (const [name, fields] of Object.entries(HEADERS))
  t.test(`a header ${name} has its hash`, async (t) => {
    const { block } = await oracleBlock(fields, [])
    t.equal(headerHash(block), block.hash)
    const withNulls = { baseFeePerGas: null, requestsHash: null, slotNumber: null, ...block }
    t.equal(headerHash(withNulls), block.hash, 'null is a field that it has not')
    const last = Object.keys(fields).at(-1)
    for (const field of Object.keys(fields))
      if (field === last) t.not(headerHash({ ...block, [field]: undefined }), block.hash, field)
      else t.throws(() => headerHash({ ...block, [field]: undefined }), { message: `its ${field} is missing` })
  })

t.test('a base fee of 0 cannot be kept back', async (t) => {
  // An empty field before the last one has the bytes of 0.
  const { block } = await oracleBlock({ ...PRAGUE, baseFeePerGas: '0x0' }, [])
  t.equal(disproof(block, [], []), null)
  for (const baseFeePerGas of [null, undefined])
    t.equal(disproof({ ...block, baseFeePerGas }, [], []), 'block 0x10: its baseFeePerGas is missing')
})

t.test('what validators withdrew is proven by its root, and nothing beside it is taken', async (t) => {
  const [own, other] = [TO, `0x${'44'.repeat(20)}`]
  const shown = [
    { index: '0x0', validatorIndex: '0x7', address: own, amount: '0x5' },
    { index: '0x1', validatorIndex: '0x80', address: other, amount: '0x3b9aca00' },
  ]
  const bare = (value: string) => (value === '0x0' ? '0x' : toBeHex(BigInt(value)))
  const items = shown.map(({ index, validatorIndex, address, amount }) =>
    encodeRlp([bare(index), bare(validatorIndex), address, bare(amount)]),
  )
  const { block } = await oracleBlock({ ...LONDON, withdrawalsRoot: await trieRoot(items) }, [])
  const incomeOf = (withdrawals: unknown) => {
    const { block: read } = provenBlock({ ...block, withdrawals }, [], [], null)
    return read?.income?.withdrawals ?? null
  }
  t.strictSame(incomeOf(shown), [
    { address: own, amount: 5n * GWEI },
    { address: other, amount: GWEI * GWEI },
  ])
  for (const lie of [undefined, [], shown.slice(1), shown.toReversed(), [...shown, shown[0]]])
    t.equal(incomeOf(lie), null)
  for (const field of ['index', 'validatorIndex', 'address', 'amount'])
    t.equal(incomeOf([{ ...shown[0], [field]: field === 'address' ? other : '0x9' }, shown[1]]), null, field)
  const without = await oracleBlock(LONDON, [])
  const beside = provenBlock({ ...without.block, withdrawals: shown }, [], [], null)
  t.strictSame(beside.block?.income?.withdrawals, [], 'no root, no withdrawals')
})

t.test('whether receipts log native currency follows from the header', (t) => {
  for (const [name, isLogged] of [
    ['geth-osaka', false],
    ['geth-amsterdam', true],
  ] as const)
    for (const { block, receipts } of vector(name)) {
      const { transactions, ...header } = block
      t.equal(proven({ block: header, transactions, receipts }).income?.logsNative, isLogged)
      t.equal(
        disproof({ ...header, blockAccessListHash: isLogged ? null : hash('list') }, transactions, receipts) === null,
        false,
      )
    }
  t.end()
})

t.test('the ordered root is that of the library, for every length', async (t) => {
  for (const length of [0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 300]) {
    const items = Array.from({ length }, (_, i) =>
      keccak256(toBeArray(i + 1))
        .slice(0, 4 + 2 * (i % 60))
        .padEnd(6, '0'),
    )
    const even = items.map((item) => (item.length % 2 === 0 ? item : `${item}0`))
    t.equal(orderedRoot(even.map((item) => Buffer.from(item.slice(2), 'hex'))), await trieRoot(even), `${length} items`)
  }
})

t.test('before PIP-74 what polygon brought over stands in no root, and none of it is taken', async (t) => {
  const user = entry(await signed(SENT['dynamic fee'] ?? {}))
  const { block } = await oracleBlock(LONDON, [user])
  const number = `0x${'00'.repeat(7)}10`
  const outside = {
    ...{ hash: keccak256(concat([Buffer.from('matic-bor-receipt-'), number, String(block.hash)])), type: '0x0' },
    ...{ from: NOBODY, to: NOBODY, nonce: '0x0', gas: '0x0', gasPrice: '0x0', value: '0x0', input: '0x' },
    ...{ v: '0x0', r: '0x0', s: '0x0' },
  }
  const parts = await oracleBlock(LONDON, [user, { shown: outside, bytes: null, price: 0n, gasUsed: 0, logs: [LOG] }])
  t.equal(parts.block.hash, block.hash)
  t.equal(disproof(parts.block, parts.transactions, parts.receipts), null)
  t.equal(disproof(parts.block, parts.transactions, parts.receipts.slice(0, 1)), null, 'some nodes omit its receipt')
  t.equal(proven(parts).transactions.length, 1)
  const forged = parts.transactions.map((one, i) => (i === 1 ? { ...one, hash: hash('forged') } : one))
  t.match(disproof(parts.block, forged, parts.receipts), 'it has another root of its transactions')
})

t.test(
  'since PIP-74 a state sync is proven by its bytes, which a node shows only when it is asked for them',
  async (t) => {
    const data = [['0x07', TO, '0x1234', hash('ethereum')]]
    const bytes = concat(['0x7f', encodeRlp(data)])
    const shown = {
      ...{ hash: keccak256(bytes), type: '0x7f', from: NOBODY, to: NOBODY, nonce: '0x0', gas: '0x0', gasPrice: '0x0' },
      ...{ value: '0x0', input: '0x', v: '0x0', r: '0x0', s: '0x0' },
    }
    const sync = { shown, bytes, price: 0n, gasUsed: 0, logs: [LOG] }
    const parts = await oracleBlock(LONDON, [entry(await signed(SENT['dynamic fee'] ?? {})), sync])
    const withBytes = (raw: string) => parts.transactions.map((one) => (one.type === '0x7f' ? { ...one, raw } : one))
    t.strictSame(parts.transactions.map(lacksBytes), [false, true])
    t.match(
      disproof(parts.block, parts.transactions, parts.receipts),
      'transaction 1: it is a state sync, and its bytes',
    )
    t.match(disproof(parts.block, withBytes(`${bytes}00`), parts.receipts), 'another hash than its bytes')
    t.match(disproof(parts.block, withBytes('0x02c0'), parts.receipts), 'its bytes are not')
    const block = proven({ ...parts, transactions: withBytes(bytes) })
    t.match(block.transactions[1], { from: NOBODY, to: NOBODY, gasUsed: 0n, effectiveGasPrice: 0n, value: 0n })
    matchExactly(t, block.transactions[1]?.logs, [{ ...LOG, logIndex: 0 }])
  },
)

t.test('what cannot be read is named', async (t) => {
  const { block, transactions, receipts } = await oracleBlock(LONDON, [entry(await signed(SENT.legacy ?? {}))])
  const told = (fields: Raw) => disproof(block, [{ ...transactions[0], ...fields }], receipts)
  t.equal(told({ type: '0x5' }), 'block 0x10: transaction 0: its type 0x5 is unknown here')
  t.equal(told({ nonce: undefined }), 'block 0x10: transaction 0: its nonce is missing')
  t.equal(told({ value: '5' }), 'block 0x10: transaction 0: its value is no number')
  t.equal(
    disproof(block, transactions, [{ ...receipts[0], type: '0x7e' }]),
    'block 0x10: receipt 0: its type 0x7e is unknown here',
  )
  t.equal(disproof({ ...block, miner: null }, transactions, receipts), 'block 0x10: its miner is missing')
  const old = { ...receipts[0], status: undefined, root: hash('root') }
  t.match(disproof(block, transactions, [old]), 'another root of its receipts')
})

t.test('a receipt from before Byzantium does not say whether the transaction succeeded', async (t) => {
  const { block, transactions, receipts } = await oracleBlock({}, [entry(await signed(SENT.legacy ?? {}))])
  const old: Raw = { ...receipts[0], status: undefined, root: hash('root') }
  const bytes = encodeRlp([hash('root'), toBeArray(21_000), String(old.logsBloom), []])
  const header = { ...block, receiptsRoot: await trieRoot([bytes]) }
  const hashed = { ...header, hash: headerHash(header) }
  const moved = (raw: Raw) => ({ ...raw, blockHash: hashed.hash })
  t.match(disproof(hashed, transactions.map(moved), [moved(old)]), 'does not say whether it succeeded')
})

t.test('real blocks have their hashes, roots and senders', (t) => {
  const header = vector('polygon-38846558-header')
  t.equal(headerHash(header), header.hash, 'polygon 38846558')
  const old = vector('ethereum-2000004')
  t.equal(headerHash(old), old.hash, 'ethereum 2000004')
  t.equal(orderedRoot(old.transactions.map(transactionBytes)), old.transactionsRoot)
  for (const one of old.transactions) t.equal(senderOf(one, recoveredAddress), one.from)
  for (const name of ['geth-osaka', 'geth-amsterdam'])
    for (const { block, receipts } of vector(name)) {
      const { transactions } = proven({ block, transactions: block.transactions, receipts })
      t.strictSame(
        transactions.map(({ from }) => from),
        block.transactions.map(({ from }: Raw) => from),
        `${name} ${block.number}`,
      )
    }
  t.end()
})

t.test('nobody sent a transaction whose signature no key made', async (t) => {
  const raw = shownTransaction(await signed(SENT['dynamic fee'] ?? {}))
  t.equal(senderOf({ ...raw, r: '0x0' }, recoveredAddress), null)
  t.equal(senderOf({ ...raw, yParity: '0x2' }, recoveredAddress), null)
  t.not(senderOf({ ...raw, value: '0x6' }, recoveredAddress), key.address.toLowerCase())
})

t.end()
