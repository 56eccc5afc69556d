/**
 * What follows from the bytes of the transactions and receipts of a block, once these are proven: gas from the differences
 * of the cumulative gas, prices from the signed fees and the base fee, places of logs by counting. What a node claims of it
 * in fields that no root has is not read.
 */
import { type Authorization, readAuthorizations } from './authorizations.ts'
import { malformed, readCount, readLower, readQuantity } from './hex.ts'
import {
  isUnsigned,
  NOBODY,
  type Raw,
  type RecoverAddress,
  STATE_SYNC_TYPE,
  senderOf,
  typeOf,
  within,
} from './transaction-bytes.ts'
import { type Withdrawal, withdrawalsOf } from './withdrawals.ts'

/** Addresses, hashes and topics are lower case. */
export type ChainLogEntry = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  /** Index in the block. */
  readonly logIndex: number
}

export type FeeOffer = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

export type BlockTransaction = {
  readonly hash: string
  /** Of a proven block recovered when it is first read: each takes as long as all else of a transaction. */
  readonly from: string
  /** `null` when the transaction creates a contract. */
  readonly to: string | null
  readonly nonce: number
  /** Wei. */
  readonly value: bigint
  /** Call data, hex. */
  readonly input: string
  readonly status: 'success' | 'reverted'
  readonly gasUsed: bigint
  /** Wei per gas, including the tip. */
  readonly effectiveGasPrice: bigint
  /** The fees that its sender signed, wei per gas; `null` for other types than EIP-1559. */
  readonly offer: FeeOffer | null
  readonly logs: readonly ChainLogEntry[]
  /** EIP-7702; usually empty. */
  readonly authorizations: readonly Authorization[]
  /** Whether it also paid for blobs (EIP-4844), at a price that is not read here. */
  readonly hasBlobs: boolean
}

export type BlockRef = { readonly number: number; readonly hash: string }

export type BlockHeader = BlockRef & { readonly parentHash: string }

/** What changes balances beside transactions, and how far logs show it. */
export type BlockIncome = {
  /** Who gets the tips where the chain pays them to the one whom the header names, in lower case. */
  readonly feeRecipient: string
  readonly withdrawals: readonly Withdrawal[]
  /** Whether its receipts have a log of each movement of native currency (EIP-7708, Amsterdam). */
  readonly logsNative: boolean
}

export type Block = BlockHeader & {
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** Wei per gas; `null` on a chain without EIP-1559. */
  readonly baseFeePerGas: bigint | null
  /** Proven by its hash; `null` where headers do not hash. */
  readonly income: BlockIncome | null
  readonly transactions: readonly BlockTransaction[]
}

/** Both proven by their roots, the transaction also by its hash. */
export type Claimed = { readonly raw: Raw; readonly receipt: Raw }

/** What it shares with all of the block. */
type Place = Omit<Block, 'transactions'>
/** Of the receipts before. */
type Counted = { readonly gas: bigint; readonly logs: number }

const DYNAMIC_FEE_TYPE = 2
export const BLOB_TYPE = 3
const SET_CODE_TYPE = 4
const ADDRESS = /^0x[0-9a-f]{40}$/

/** @throws Error when a claim is wrong */
export function readProven(block: Raw, claimed: readonly Claimed[], recover: RecoverAddress | null): Block {
  const place = {
    number: readCount(block.number, 'its number'),
    hash: readLower(block.hash, 'its hash'),
    parentHash: readLower(block.parentHash, 'its parent hash'),
    timestamp: readCount(block.timestamp, 'its timestamp'),
    baseFeePerGas: block.baseFeePerGas == null ? null : readQuantity(block.baseFeePerGas, 'its base fee'),
    income: incomeOf(block),
  }
  let before: Counted = { gas: 0n, logs: 0 }
  const transactions = claimed.map((one, index) =>
    within(`transaction ${index}`, () => {
      const transaction = readTransaction(place, one, before, recover)
      before = { gas: before.gas + transaction.gasUsed, logs: before.logs + transaction.logs.length }
      return transaction
    }),
  )
  return { ...place, transactions }
}

function incomeOf(block: Raw): BlockIncome {
  return {
    feeRecipient: readLower(block.miner, 'its fee recipient'),
    withdrawals: withdrawalsOf(block),
    logsNative: block.blockAccessListHash != null,
  }
}

function readTransaction(place: Place, { raw, receipt }: Claimed, before: Counted, recover: RecoverAddress | null) {
  let sender: string | null = null
  const gasUsed = readQuantity(receipt.cumulativeGasUsed, 'its cumulative gas') - before.gas
  if (gasUsed < 0n) throw new Error('its cumulative gas is less than before')
  return {
    hash: readLower(raw.hash, 'its hash'),
    get from() {
      sender ??= senderIn(raw, recover)
      return sender
    },
    to: recipientOf(raw.to),
    nonce: readCount(raw.nonce, 'its nonce'),
    value: readQuantity(raw.value, 'its value'),
    input: readLower(raw.input ?? '0x', 'its call data'),
    status: statusOf(receipt),
    gasUsed,
    effectiveGasPrice: priceOf(raw, place.baseFeePerGas ?? 0n),
    offer: typeOf(raw) === DYNAMIC_FEE_TYPE ? feesOf(raw) : null,
    logs: logsOf(receipt).map((log, index) => ({
      address: readLower(log.address, 'the address of a log'),
      topics: Array.isArray(log.topics) ? log.topics.map((topic) => readLower(topic, 'a topic')) : [],
      data: readLower(log.data, 'the data of a log'),
      logIndex: before.logs + index,
    })),
    authorizations: typeOf(raw) === SET_CODE_TYPE ? readAuthorizations(raw) : [],
    hasBlobs: typeOf(raw) === BLOB_TYPE,
  } satisfies BlockTransaction
}

/** Nobody signed what the consensus brings over. Without a way to recover it, the node is believed. @throws Unavailable when no key made the signature */
function senderIn(raw: Raw, recover: RecoverAddress | null): string {
  if (typeOf(raw) === STATE_SYNC_TYPE) return NOBODY
  if (recover === null || isUnsigned(raw)) return readLower(raw.from, 'its sender')
  const sender = senderOf(raw, recover)
  if (sender === null) throw malformed('nobody signed a transaction')
  return sender
}

/** Another length than that of an address is one of no transaction on a chain. */
function recipientOf(value: unknown): string | null {
  const to = value == null || value === '0x' ? null : readLower(value, 'its recipient')
  if (to !== null && !ADDRESS.test(to)) throw new Error('its recipient is no address')
  return to
}

function statusOf({ status }: Raw): 'success' | 'reverted' {
  const outcome = status == null ? null : readQuantity(status, 'its status')
  if (outcome === 0n) return 'reverted'
  if (outcome === 1n) return 'success'
  throw new Error('its receipt does not say whether it succeeded')
}

/** EIP-1559 */
function priceOf(raw: Raw, baseFeePerGas: bigint): bigint {
  const type = typeOf(raw)
  if (type === STATE_SYNC_TYPE) return 0n
  if (type < DYNAMIC_FEE_TYPE) return readQuantity(raw.gasPrice, 'its price')
  const { maxFeePerGas, maxPriorityFeePerGas } = feesOf(raw)
  const wished = baseFeePerGas + maxPriorityFeePerGas
  if (wished > maxFeePerGas) return maxFeePerGas
  return wished
}

function feesOf(raw: Raw): { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint } {
  return {
    maxFeePerGas: readQuantity(raw.maxFeePerGas, 'its fee'),
    maxPriorityFeePerGas: readQuantity(raw.maxPriorityFeePerGas, 'its tip'),
  }
}

function logsOf({ logs }: Raw): readonly Raw[] {
  return Array.isArray(logs) ? logs : []
}
