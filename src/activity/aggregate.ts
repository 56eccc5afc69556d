/** The read model of observed transfers: one row for each. Pure. */
import type { Aggregate, ProjectionContext } from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import { type TransferCommand, transferDecider } from './decider.ts'
import type { ObservedTransferEvent } from './events.ts'
import type { KnownTransfer, TransferState } from './state.ts'

const first = { version: 1, upcasters: [] }

export const observedTransferAggregate: Aggregate<
  TransferState,
  TransferCommand,
  ObservedTransferEvent,
  'observed_transfers'
> = {
  ...transferDecider,
  category: 'observed',
  schemas: { TransferObserved: first, TransferConfirmed: first, TransferOrphaned: first },
  rowKey: 'transfer_id',
  hasEnded: ({ status }) => status === 'confirmed',
  project: (_before, after, context) => ({
    rows: after.status === 'unknown' ? [] : [{ table: 'observed_transfers', row: toRow(after, context) }],
    holds: [],
  }),
}

function toRow(known: KnownTransfer, { id, tenantId, version }: ProjectionContext): WrittenRow<'observed_transfers'> {
  const { status, transfer, first: observation } = known
  return {
    transfer_id: id,
    tenant_id: tenantId,
    wallet_id: transfer.walletId,
    chain_id: transfer.chainId,
    network: transfer.network,
    direction: transfer.direction,
    status,
    hash: transfer.hash,
    log_index: transfer.logIndex,
    counterparty: transfer.counterparty,
    transaction_id: transfer.transactionId,
    asset_id: transfer.asset.assetId,
    asset_symbol: transfer.asset.symbol,
    asset_decimals: transfer.asset.decimals,
    asset_contract: transfer.asset.contract,
    amount: transfer.amount,
    valuation: transfer.valuation,
    block_number: transfer.blockNumber,
    block_hash: transfer.blockHash,
    block_timestamp: transfer.blockTimestamp,
    observed_at: observation.observedAt,
    place: placeOf(id, observation),
    version,
  }
}

/** Digits of the time in a UUIDv7: milliseconds since the epoch (RFC 9562). */
const TIME_DIGITS = 12
/** Digits for the block and for the log: they order what was observed in one millisecond. */
const ORDER_DIGITS = 3
const MOST = 16 ** ORDER_DIGITS
/** Digits for logs that those do not tell apart. */
const LATE_DIGITS = 6

/**
 * Where it stands among the wallet's own transactions, whose UUIDv7 begins with the time of their request: a UUID of the
 * same form with the time of the first observation, its block and log, and the end of the transfer's id.
 */
function placeOf(id: string, { observedAt, blockNumber, logIndex }: KnownTransfer['first']): string {
  const time = Date.parse(observedAt).toString(16).padStart(TIME_DIGITS, '0')
  const order = (logIndex ?? -1) + 1
  const [block, log] = [blockNumber % MOST, Math.min(order, MOST - 1)].map((n) =>
    n.toString(16).padStart(ORDER_DIGITS, '0'),
  )
  const late = order < MOST - 1 ? '' : (order - MOST + 1).toString(16).padStart(LATE_DIGITS, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${block}-8${log}-${late}${id.slice(late.length - TIME_DIGITS)}`
}
