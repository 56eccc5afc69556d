/**
 * Accepts a transfer: checks everything that can be known now, then records the request and holds back what it may cost,
 * in one append. What is refused leaves no trace.
 */
import { parseRecipient } from '../chain/address.ts'
import type { FeeQuote } from '../chain/fees.ts'
import type { Asset } from '../core/assets.ts'
import { nativeAsset } from '../core/assets.ts'
import { Conflict, type ErrorItem, InsufficientFunds, ValidationFailed } from '../core/errors.ts'
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import { formatAmount, parseAmount } from '../core/money.ts'
import type { Environment, Network } from '../core/networks.ts'
import { change } from '../event-log/aggregate.ts'
import { appendOnce } from '../event-log/append-once.ts'
import { HoldRefused, WalletGuardRefused } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import { PLAIN_TRANSFER_GAS } from './build-call.ts'
import type { GasPriority, Intent } from './events.ts'
import { transactionAggregate } from './projection.ts'
import { type TransactionView, viewOf } from './view.ts'

/** Gas held back for a token transfer before it is simulated: above what the common tokens use. */
const TOKEN_TRANSFER_GAS = 100_000n

/** On whose behalf, and in which environment. */
export type Owner = { readonly tenantId: string; readonly environment: Environment }

/** A wallet as far as sending needs it. */
export type Sender = {
  readonly walletId: string
  readonly type: 'mpc' | 'hd' | 'watch'
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly address: string
}

/** @throws NotFound when the owner has no such wallet, Conflict when it has no address yet */
export type FindSender = (owner: Owner, walletId: string) => Promise<Sender>

export type TransferRequest = {
  readonly walletId: string
  readonly to: string
  readonly amount: string
  /** A symbol, or a contract address. */
  readonly asset: string
  readonly gasPriority: GasPriority
  readonly referenceId: string | null
  readonly memo: string | null
  readonly validUntil: string | null
}

export type TransferPorts = {
  readonly log: EventLog
  readonly newId: NewId
  readonly findSender: FindSender
  /** @throws ValidationFailed when the chain has no such asset */
  readonly resolveAsset: (asset: string, sender: Sender, tenantId: string) => Promise<Asset>
  /** The fee quote of a chain, from memory. @throws Unavailable when no node has answered lately */
  readonly quoteOf: (chainId: number) => Promise<FeeQuote>
  /** How long a transfer takes to be final on a chain, in milliseconds: told to the caller as an estimate. */
  readonly completionMs: (chainId: number) => number
}

/** What was accepted now, or the id of what an earlier request with the same idempotency key made. */
export type AcceptedTransfer = { readonly transactionId: string; readonly view: TransactionView | null }

export type RequestTransfer = (
  request: TransferRequest,
  metadata: Metadata,
  environment: Environment,
) => Promise<AcceptedTransfer>

/**
 * @throws NotFound, ValidationFailed (bad address, amount or asset, `watch_only`, `expired`), Conflict `wallet_archived`,
 *   InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export function createRequestTransfer(ports: TransferPorts): RequestTransfer {
  const { log, newId } = ports
  return async (request, metadata, environment) => {
    const intent = await prepareIntent(ports, request, { tenantId: metadata.tenantId, environment })
    const transactionId = newId('transaction')
    const unknown = { id: transactionId, state: transactionAggregate.initialState, version: 0, hash: '' }
    const requested = change(
      transactionAggregate,
      unknown,
      { type: 'RequestTransfer', intent },
      { metadata, now: intent.requestedAt },
    )
    if (requested === null) throw new Error('a new request always decides something')
    const commit = {
      changes: [requested],
      guards: { wallet: { walletId: intent.walletId, require: 'active' as const } },
    }
    const opened = await appendOnce(log, commit, { resourceId: transactionId, metadata }).catch((error) => {
      throw explain(error, intent)
    })
    return { transactionId: opened.id, view: opened.replayed ? null : viewOf(requested) }
  }
}

/** Everything about a transfer that can be decided before it is recorded. */
export async function prepareIntent(ports: TransferPorts, request: TransferRequest, owner: Owner): Promise<Intent> {
  const sender = await ports.findSender(owner, request.walletId)
  if (sender.type === 'watch') {
    throw ValidationFailed.field(
      'wallet_id',
      'watch_only',
      'A watch wallet has no key here: send from an hd or mpc wallet.',
    )
  }
  const now = ports.log.now()
  const { asset, to, amount } = await readFields(ports, request, sender, { tenantId: owner.tenantId, now })
  const quote = await ports.quoteOf(sender.chainId)
  const gasLimit = asset.contract === null ? PLAIN_TRANSFER_GAS : TOKEN_TRANSFER_GAS
  return {
    tenantId: owner.tenantId,
    walletId: sender.walletId,
    network: sender.network,
    environment: sender.environment,
    chainId: sender.chainId,
    from: sender.address,
    to,
    asset,
    amount: amount.toString(),
    gasPriority: request.gasPriority,
    reserved: { gasLimit: gasLimit.toString(), maxFeePerGas: quote[request.gasPriority].maxFeePerGas.toString() },
    referenceId: request.referenceId,
    memo: request.memo,
    validUntil: request.validUntil,
    estimatedCompletionAt: new Date(Date.parse(now) + ports.completionMs(sender.chainId)).toISOString(),
    requestedAt: now,
  }
}

/** @throws ValidationFailed with everything that is wrong with the fields, not only the first */
async function readFields(
  { resolveAsset }: TransferPorts,
  request: TransferRequest,
  sender: Sender,
  { tenantId, now }: { readonly tenantId: string; readonly now: string },
): Promise<{ readonly asset: Asset; readonly to: string; readonly amount: bigint }> {
  const mistakes: ErrorItem[] = []
  const noted = (error: unknown): undefined => {
    if (!(error instanceof ValidationFailed)) throw error
    mistakes.push(...error.items)
  }
  const asset = await resolveAsset(request.asset, sender, tenantId).catch(noted)
  const to = attempt(() => parseRecipient(request.to), noted)
  // How many decimals an amount may have is the asset's to say.
  const amount = asset && attempt(() => parsePositive(request.amount, asset), noted)
  attempt(() => requireFuture(request.validUntil, now), noted)
  if (asset === undefined || to === undefined || amount === undefined || mistakes.length > 0) {
    throw new ValidationFailed(mistakes)
  }
  return { asset, to, amount }
}

function attempt<Value>(read: () => Value, noted: (error: unknown) => undefined): Value | undefined {
  try {
    return read()
  } catch (error) {
    return noted(error)
  }
}

function parsePositive(text: string, { decimals }: Asset): bigint {
  const amount = parseAmount(text, decimals)
  if (amount === 0n) throw ValidationFailed.field('amount', 'amount_zero', 'amount must be more than 0.')
  return amount
}

function requireFuture(validUntil: string | null, now: string): void {
  if (validUntil === null || validUntil > now) return
  throw ValidationFailed.field(
    'valid_until',
    'expired',
    `valid_until is in the past (it is ${now} now): give a later time, or leave it out.`,
  )
}

/** Says a refusal of the log in the caller's words. */
function explain(error: unknown, intent: Intent): unknown {
  if (error instanceof WalletGuardRefused) {
    return new Conflict('wallet_archived', 'The wallet is archived: restore it to send from it.')
  }
  if (error instanceof HoldRefused) {
    const native = nativeAsset(intent.network, intent.chainId)
    const asset = error.assetId === native.assetId ? native : intent.asset
    return new InsufficientFunds({
      asset: asset.symbol,
      available: formatAmount(error.available, asset.decimals),
      needed: formatAmount(error.needed, asset.decimals),
    })
  }
  return error
}
