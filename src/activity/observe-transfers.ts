/**
 * Decides what to record of observed transfers from processed blocks; the follower commits them together with its cursor. The
 * wallets among the addresses of the blocks were looked up for the balances: a block without them costs nothing here, any
 * other one read of the streams, and one of prices.
 */

import { createHash } from 'node:crypto'
import { toChecksumAddress } from '../chain/address.ts'
import type { Block } from '../chain/blocks.ts'
import type { Context } from '../context.ts'
import type { ChainKey } from '../core/networks.ts'
import { type Decision, decideOn, type Loaded, notHeld } from '../event-log/aggregate.ts'
import type { Notifications } from '../wallets/events.ts'
import type { WalletStatus } from '../wallets/state.ts'
import { observedTransferAggregate } from './aggregate.ts'
import type { TransferCommand } from './decider.ts'
import { activity } from './declaration.ts'
import type { Direction, ObservedTransfer } from './events.ts'
import type { TransferState } from './state.ts'
import { transfersAbove, transfersUpTo } from './transfer-reads.ts'
import { type FoundTransfer, type OwnTransaction, type TouchedWallet, transfersIn } from './transfers-in.ts'
import { noticesOf, type Price, valuationOf } from './valuation.ts'

export type NotifiedWallet = TouchedWallet & {
  readonly status: WalletStatus
  readonly notifications: Notifications | null
  /** Registered tokens have no price: anybody can deploy a token with the symbol of another. */
  readonly isPriced: boolean
}

export type FollowedChain = ChainKey & { readonly chainId: number }

type Walked = {
  readonly chain: FollowedChain
  /** Consecutive, oldest first. */
  readonly blocks: readonly Block[]
  readonly touched: readonly NotifiedWallet[]
  /** By hash. */
  readonly own: ReadonlyMap<string, OwnTransaction>
}

/** Decisions for the transfers to and from the touched wallets. A transfer that is recorded already changes nothing. */
export async function observeTransfers(
  {
    log,
    pricesOf,
  }: Pick<Context, 'log'> & {
    /** Prices that are recent enough to value with, by symbol. */
    readonly pricesOf: (chainId: number) => Promise<ReadonlyMap<string, Price>>
  },
  walked: Walked,
): Promise<Decision[]> {
  const { chain, blocks, touched, own } = walked
  const found = new Map(
    transfersIn(blocks, touched, own).map((transfer) => [nameOf(chain.chainId, transfer), transfer]),
  )
  if (found.size === 0) return []
  const isPriced = [...found.values()].some(({ wallet }) => wallet.isPriced)
  const [loaded, prices] = await Promise.all([
    log.loadMany(observedTransferAggregate, [...found.keys()]),
    isPriced ? pricesOf(chain.chainId) : new Map<string, Price>(),
  ])
  const now = log.now()
  return notHeld(loaded).flatMap((item) => {
    const transfer = found.get(item.id)
    if (transfer === undefined) return []
    return decisionOf(item, { type: 'RecordTransfer', transfer: toTransfer(chain, transfer, prices), now }) ?? []
  })
}

/** Decisions for the transfers in blocks that left the chain. @param ancestor number of the newest block that still is */
export async function unwindTransfers(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  ancestor: number,
): Promise<Decision[]> {
  return decideEach(log, await transfersAbove(pool, chainId, ancestor), { type: 'OrphanTransfer', now: log.now() })
}

/** Decisions for the transfers that have enough confirmations now. @param head number of the newest processed block */
export async function confirmTransfers(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  head: number,
  requiredConfirmations: number,
): Promise<Decision[]> {
  const ids = await transfersUpTo(pool, chainId, head - requiredConfirmations + 1)
  return decideEach(log, ids, { type: 'ConfirmTransfer', head, requiredConfirmations, now: log.now() })
}

async function decideEach(log: Context['log'], ids: readonly string[], command: TransferCommand): Promise<Decision[]> {
  const loaded = await log.loadMany(observedTransferAggregate, ids)
  return notHeld(loaded).flatMap((item) => decisionOf(item, command) ?? [])
}

function decisionOf(loaded: Loaded<TransferState>, command: TransferCommand): Decision | null {
  const { state } = loaded
  const recorded = state.status === 'unknown' ? null : state.transfer
  const transfer = command.type === 'RecordTransfer' ? command.transfer : recorded
  if (transfer === null) return null
  const { tenantId, blockNumber } = transfer
  const metadata = { tenantId, actor: 'worker:chain-follower', causationId: `block:${blockNumber}` }
  return decideOn(observedTransferAggregate, loaded, command, { metadata, now: command.now })
}

function nameOf(chainId: number, found: FoundTransfer<NotifiedWallet>): string {
  return transferId({ ...found, chainId, walletId: found.wallet.walletId })
}

function toTransfer(
  { chainId, network, environment }: FollowedChain,
  found: FoundTransfer<NotifiedWallet>,
  prices: ReadonlyMap<string, Price>,
): ObservedTransfer {
  const { wallet, direction, block, hash, logIndex, counterparty, amount, transactionId } = found
  const { asset } = wallet
  const valuation = valuationOf(amount, asset.decimals, wallet.isPriced ? prices.get(asset.symbol) : undefined)
  return {
    tenantId: wallet.tenantId,
    walletId: wallet.walletId,
    network,
    environment,
    chainId,
    direction,
    hash,
    logIndex,
    counterparty: counterparty === null ? null : toChecksumAddress(counterparty),
    asset: { assetId: asset.assetId, symbol: asset.symbol, decimals: asset.decimals, contract: asset.contract },
    amount: amount.toString(),
    valuation,
    notices: noticesOf(wallet, direction, valuation),
    transactionId,
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimestamp: new Date(block.timestamp * 1_000).toISOString(),
  }
}

export type TransferName = {
  readonly chainId: number
  readonly walletId: string
  readonly direction: Direction
  readonly hash: string
  /**
   * The place of the log among those of its transaction; `null` for the native currency. The index in the block changes when a
   * reorg moves the transaction.
   */
  readonly logOfTransaction: number | null
}

/**
 * The id of an observed transfer, derived from what identifies it: a block that is processed again finds the same id.
 *
 * @returns a UUIDv8 (RFC 9562): the first bits of a SHA-256
 */
export function transferId({ chainId, walletId, direction, hash, logOfTransaction }: TransferName): string {
  const name = [chainId, walletId, direction, hash, logOfTransaction ?? 'native'].join(' ')
  const hex = createHash('sha256').update(name).digest('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `${activity.ids.observedTransfer}_${parts.join('-')}`
}
