/** A transaction in the form of the API, from its row in the read model. */

import type { TObject } from '@sinclair/typebox'
import { parseRecorded } from '../chain/abi-fragment.ts'
import { decodeLog } from '../chain/abi-logs.ts'
import { toChecksumAddress } from '../chain/address.ts'
import { nativeAsset } from '../core/assets.ts'
import { callerViews } from '../core/caller-fields.ts'
import { toIso } from '../core/instants.ts'
import { formatDigits } from '../core/money.ts'
import { isUnlimited, type Spend } from '../core/spends.ts'
import type { Decision } from '../event-log/aggregate.ts'
import type { View } from '../http/view.ts'
import type { acceptedBatchSchema } from './batch-schemas.ts'
import type { RecordedLogs } from './events.ts'
import type { CallRecord } from './intent.ts'
import { type PartSchemas, partViews, shownFailure } from './parts.ts'
import type { acceptedSchema, transactionSchema } from './schemas.ts'
import type { TransactionRow, ViewRow } from './transaction-row.ts'

export type TransactionView = View<ReturnType<typeof transactionSchema>>

/** Why a request is not signed yet, as signers wrote it last. */
export type WaitingRow = { readonly reason: string; readonly since: string }

/**
 * @param chain number of the newest processed block (null: none yet), and the required confirmations
 * @param isDetailed with the events of a contract call, which take milliseconds to decode
 */
export function toView(
  row: ViewRow,
  chain: { readonly head: number | null; readonly required: number; readonly waiting?: WaitingRow | null },
  isDetailed = false,
): TransactionView {
  const native = nativeAsset(row.network, row.chain_id)
  const blockNumber = row.block_number === null ? null : Number(row.block_number)
  return {
    transaction_id: row.transaction_id,
    wallet_id: row.wallet_id,
    status: row.status,
    state: row.state,
    type: row.type,
    network: row.network,
    hash: row.hash,
    hashes: row.hashes,
    from: row.from_address,
    to: row.to_address,
    amount: formatDigits(row.amount, row.asset_decimals),
    amount_moved: row.amount_moved === null ? null : formatDigits(row.amount_moved, row.asset_decimals),
    asset: row.asset_symbol,
    asset_id: row.asset_id,
    gas_priority: row.gas_priority,
    nonce: row.nonce === null ? null : Number(row.nonce),
    block_number: blockNumber,
    confirmations: blockNumber === null || chain.head === null ? 0 : Math.max(0, chain.head - blockNumber + 1),
    required_confirmations: chain.required,
    fee: {
      estimated: formatDigits(row.fee_estimated, native.decimals),
      actual: row.fee_actual === null ? null : formatDigits(row.fee_actual, native.decimals),
      currency: native.symbol,
    },
    failure: failureOf(row),
    waiting: waitingOf(chain.waiting ?? null),
    ...(partViews(row) as View<TObject<Pick<PartSchemas, keyof PartSchemas>>>),
    history: row.history,
    call: row.call === null ? null : toCallView(row.call),
    ...(isDetailed && row.call !== null && row.logs !== null
      ? { events: decodeLogs(row.logs, row.call), events_truncated: row.logs.cut }
      : { events: null, events_truncated: null }),
    depends_on: row.depends_on,
    subject:
      row.subject_type === null || row.subject_id === null ? null : { type: row.subject_type, id: row.subject_id },
    ...callerViews(row),
    estimated_completion_time: toIso(row.estimated_completion_at),
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
  }
}

function waitingOf(row: WaitingRow | null): TransactionView['waiting'] {
  return row === null ? null : { code: 'not_simulated', message: row.reason, since: toIso(row.since) }
}

function failureOf(row: ViewRow): TransactionView['failure'] {
  return row.failure === null ? null : shownFailure(row.failure, row, row.to_address)
}

export function toCallView(call: CallRecord): NonNullable<TransactionView['call']> {
  const { function: name, signature, selector, args, spends } = call
  return { function: name, signature, selector, args, spends, warnings: spends.flatMap(toWarnings) }
}

function toWarnings(spend: Spend): NonNullable<TransactionView['call']>['warnings'] {
  const { kind, token, spender } = spend
  if (kind === 'unreadable') {
    const message =
      'A part of the call is nested, large or the consent to an order: it may allow others to spend assets of the wallet.'
    return [{ code: 'unreadable_call', message }]
  }
  if (!isUnlimited(spend)) return []
  const message = `${spender} may spend all of ${token}, at any time, until the wallet revokes it: allow only what is needed.`
  return [{ code: 'unlimited_spend', message }]
}

/** The view of a transaction that was just requested, from the row that its append wrote. */
export function viewOf(requested: Decision, required = 0): TransactionView {
  const row = requested.readModels.rows.find(({ table }) => table === 'transactions')?.row
  if (row === undefined) throw new Error('a transaction must project its row')
  return toView(row as TransactionRow, { head: null, required })
}

/** What the response to a request shows of it. */
export function toAccepted(view: TransactionView): View<typeof acceptedSchema> {
  const { transaction_id, status, hash, estimated_completion_time, state } = view
  return { transaction_id, status, hash, estimated_completion_time, state }
}

/** What the response to a batch shows of its transactions. */
export function toAcceptedBatch(batchId: string, views: readonly TransactionView[]): View<typeof acceptedBatchSchema> {
  const transactions = views.map((view) => {
    const { to, amount, asset, reference_id } = view
    return { ...toAccepted(view), to, amount, asset, reference_id }
  })
  return { batch_id: batchId, transactions }
}

/**
 * The recorded logs of a contract call, decoded by the events that its caller described, in the order of the receipt. Events
 * that the caller did not describe stay raw.
 */
function decodeLogs({ entries }: RecordedLogs, { events }: CallRecord) {
  const known = entries.length === 0 ? [] : parseRecorded('event', events)
  return entries.map((log) => {
    const decoded = decodeLog(log, known)
    return {
      address: toChecksumAddress(log.address),
      log_index: log.logIndex,
      name: decoded?.name ?? null,
      signature: decoded?.signature ?? null,
      args: decoded?.args ?? null,
      topics: log.topics,
      data: log.data,
    }
  })
}
