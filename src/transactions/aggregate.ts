/** The read model of a transaction: its row, and its holds on the wallet's balances. Pure. */

import { nativeAsset } from '../core/assets.ts'
import { callerColumns } from '../core/caller-fields.ts'
import { mapValues } from '../core/map-values.ts'
import { largest } from '../core/money.ts'
import type {
  Aggregate,
  EventSchemas,
  HoldChange,
  ProjectionContext,
  ReadModelChanges,
  Upcaster,
} from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import type { TransactionEvent } from './all-events.ts'
import { type TransactionCommand, transactionDecider } from './decider.ts'
import type { LaterEvent } from './events.ts'
import type { Fees, Intent } from './intent.ts'
import { kindsOfTransactions, partNames } from './kinds.ts'
import { spendChanges } from './limits.ts'
import { readInclusion, readIntent, readSigning } from './read-events.ts'
import {
  FINAL_STATES,
  hasWorked,
  isUnmined,
  type KnownTransaction,
  newestAttempt,
  statusOf,
  type TransactionState,
  wishOf,
} from './state.ts'

const first = { version: 1, upcasters: [] }

/** Version 1 only had transfers. */
const withoutCall: Upcaster = (data) => ({ ...data, data: null, dependsOn: null, subject: null })
/** Early versions did not record quotes. */
const withoutQuote: Upcaster = (data) => ({ ...data, quote: null })
const signing = { version: 2, upcasters: [withoutQuote] }
/** Early versions did not record logs. */
const withoutLogs: Upcaster = (data) => ({ ...data, logs: null })
/** From each shape of the intent to the next. */
const SHAPES = [withoutCall, withoutQuote]
type Schemas = EventSchemas<TransactionEvent>
let schemas: Schemas | null = null

function schemasOfEvents(): Schemas {
  const openings = mapValues(kindsOfTransactions(), ({ since }) => {
    const upcasters = SHAPES.slice(since - 1)
    return { version: upcasters.length + 1, upcasters, read: readIntent }
  })
  return { ...openings, ...LATER_SCHEMAS }
}

const LATER_SCHEMAS: EventSchemas<LaterEvent> = {
  TransactionSigned: { ...signing, read: readSigning },
  TransactionReplaced: { ...signing, read: readSigning },
  TransactionSubmitted: first,
  TransactionAwaitingFunds: first,
  TransactionMined: { version: 2, upcasters: [withoutLogs], read: readInclusion },
  TransactionReorged: first,
  SettlementRevoked: first,
  TransactionConfirmed: first,
  TransactionReverted: first,
  TransactionFailed: first,
  CancellationRequested: first,
  SpeedUpRequested: first,
  TransactionCancelled: first,
  NonceConsumedExternally: first,
  LookalikeRejected: first,
  LookalikeHeld: first,
}

export const transactionAggregate: Aggregate<TransactionState, TransactionCommand, TransactionEvent, 'transactions'> = {
  ...transactionDecider,
  category: 'transaction',
  whenSetAside: 'hold',
  tenantOf(transaction) {
    if (transaction.state === 'unknown') throw new Error('the transaction was never requested')
    return transaction.intent.tenantId
  },
  rowKey: 'transaction_id',
  hasEnded: ({ state }) => (FINAL_STATES as readonly string[]).includes(state),
  get schemas() {
    schemas ??= schemasOfEvents()
    return schemas
  },
  // A transaction may be part of another resource (a mint, a collection), whose lower rank takes the key. Later keys
  // belong to cancel and speed-up requests: the first event of such a request identifies it.
  opens: (_event, { id, version }) => ({ id: version === 1 ? id : `${id}:${version}`, rank: version }),
  project,
}

function project(
  before: TransactionState,
  after: TransactionState,
  context: ProjectionContext,
): ReadModelChanges<'transactions'> {
  if (after.state === 'unknown') return { rows: [], holds: [] }
  return {
    rows: [{ table: 'transactions', row: toRow(after, context) }],
    holds: holdChanges(before, after),
    spends: spendChanges(before, after),
  }
}

/**
 * The maximum further cost of a transaction that is not in a block yet, by asset: the amount, what a call takes besides
 * it, and gas at the highest price signed or reserved. Once it is in a block, the observed balance includes it.
 */
export function holdsOf(transaction: TransactionState): ReadonlyMap<string, bigint> {
  const holds = new Map<string, bigint>()
  if (transaction.state === 'unknown' || !isUnmined(transaction)) return holds
  const { intent } = transaction
  const native = nativeAsset(intent.network, intent.chainId).assetId
  holds.set(native, heldFee(transaction))
  for (const { asset, amount } of [intent, ...(intent.outflows ?? [])])
    holds.set(asset.assetId, (holds.get(asset.assetId) ?? 0n) + amount)
  return holds
}

/** The maximum gas cost: at the highest price signed, or as reserved before. Wei. */
export function highestFee({ intent, attempts }: KnownTransaction): bigint {
  const offers = attempts.length > 0 ? attempts.map(({ fees }) => fees) : [intent.reserved]
  return offers.reduce((highest, offer) => largest(highest, costOf(offer)), 0n)
}

/** What is held for gas besides the amount, wei: a cancellation moves no amount, which pays for its gas. */
export function heldFee(transaction: KnownTransaction): bigint {
  const { intent, attempts } = transaction
  if (attempts.length === 0) return costOf(intent.reserved)
  return attempts.reduce(
    (highest, { fees, purpose }) => largest(highest, costOf(fees) - (purpose === 'cancel' ? amountFreed(intent) : 0n)),
    0n,
  )
}

/** The amount that a cancellation leaves in the wallet, wei. */
export function amountFreed({ asset, amount }: Pick<Intent, 'asset' | 'amount'>): bigint {
  return asset.contract === null ? amount : 0n
}

function costOf({ gasLimit, maxFeePerGas }: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>): bigint {
  return gasLimit * maxFeePerGas
}

function holdChanges(before: TransactionState, after: KnownTransaction): HoldChange[] {
  const held = holdsOf(before)
  const holding = holdsOf(after)
  const changes: HoldChange[] = []
  const isDecidedHere = before.state === 'unknown' || hasNewBytes(before, after)
  for (const assetId of new Set([...held.keys(), ...holding.keys()])) {
    const delta = (holding.get(assetId) ?? 0n) - (held.get(assetId) ?? 0n)
    // Nothing is accepted or signed that the wallet cannot pay. What the chain did is recorded in any case.
    const mustFit = isDecidedHere && delta > 0n
    if (delta !== 0n) changes.push({ walletId: after.intent.walletId, assetId, delta, mustFit })
  }
  return changes
}

/** Whether something was signed that no node can have yet. */
function hasNewBytes(before: KnownTransaction, after: KnownTransaction): boolean {
  const newest = after.attempts.at(-1)
  return newest !== undefined && after.attempts.length > before.attempts.length && newest.isRecovered === undefined
}

/**
 * What must still be done for it besides submitting. By the lane: replace the bytes by a cancellation, or by a copy with
 * higher fees. By an operator: say whether a transaction on chain is its own.
 */
function attentionOf(transaction: KnownTransaction): 'cancel' | 'speed_up' | 'judge' | null {
  if (!isUnmined(transaction)) return null
  return wishOf(transaction) ?? (transaction.held === null ? null : 'judge')
}

type Columns = WrittenRow<'transactions'>
/** Of every transaction. */
type OwnJson = 'hashes' | 'logs' | 'failure' | 'history'
/** The columns of parts: only the capability knows what is in them. */
type PartColumn = Exclude<
  { readonly [Column in keyof Columns]: unknown extends Columns[Column] ? Column : never }[keyof Columns],
  OwnJson
>

/** The parts that its capability records; null for those of others. */
function partColumns(intent: Intent): Pick<Columns, PartColumn> {
  const parts = partNames().map((name) => [name, intent[name as keyof Intent] ?? null])
  return Object.fromEntries(parts)
}

function toRow(transaction: KnownTransaction, { id, version, recordedAt }: ProjectionContext): Columns {
  const { intent, inclusion, state } = transaction
  const newest = newestAttempt(transaction)
  return {
    transaction_id: id,
    tenant_id: intent.tenantId,
    wallet_id: intent.walletId,
    network: intent.network,
    environment: intent.environment,
    chain_id: intent.chainId,
    type: transaction.type,
    state,
    status: statusOf(state),
    from_address: intent.from,
    to_address: intent.to,
    asset_id: intent.asset.assetId,
    asset_symbol: intent.asset.symbol,
    asset_decimals: intent.asset.decimals,
    asset_contract: intent.asset.contract,
    amount: intent.amount.toString(),
    amount_moved: inclusion?.moved?.toString() ?? null,
    depends_on: intent.dependsOn,
    subject_type: intent.subject?.type ?? null,
    subject_id: intent.subject?.id ?? null,
    gas_priority: intent.gasPriority,
    nonce: newest?.nonce ?? null,
    hash: inclusion?.hash ?? newest?.hash ?? null,
    hashes: [...transaction.abandoned, ...transaction.attempts].map(({ hash }) => hash),
    block_number: inclusion?.blockNumber ?? null,
    block_hash: inclusion?.blockHash ?? null,
    succeeded: inclusion === null ? null : hasWorked(inclusion),
    fee_estimated: highestFee(transaction).toString(),
    fee_actual: inclusion === null ? null : (inclusion.gasUsed * inclusion.effectiveGasPrice).toString(),
    logs: inclusion?.logs ?? null,
    ...partColumns(intent),
    failure: transaction.failure,
    history: transaction.history,
    attention: attentionOf(transaction),
    ...callerColumns(intent),
    estimated_completion_at: intent.estimatedCompletionAt,
    created_at: intent.requestedAt,
    updated_at: recordedAt,
    version,
  }
}
