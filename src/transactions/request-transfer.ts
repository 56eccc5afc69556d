/**
 * Accepts a transfer: checks everything that can be known now, then records the request and holds its maximum cost, in
 * one append. A refused request leaves no trace.
 */
import { parseRecipient } from '../chain/address.ts'
import type { Asset } from '../core/assets.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { parseAmount } from '../core/money.ts'
import type { Environment } from '../core/networks.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import type { GasPriority, Intent } from './events.ts'
import { completeIntent, findPayer, openTransaction, type Requester, requireFuture } from './prepare-transaction.ts'
import type { SendContext } from './send-context.ts'
import { type TransactionView, viewOf } from './view.ts'

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

/**
 * @throws NotFound, ValidationFailed (bad address, amount or asset, `watch_only`, `expired`), Conflict `wallet_archived` or
 *   `token_unreadable`, InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export function requestTransfer(
  ctx: SendContext,
  request: TransferRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted<TransactionView>> {
  return ctx.accept(metadata, async (append) => {
    const { tenantId, actor } = metadata
    const intent = await prepareIntent(ctx, request, { tenantId, actor, environment, accepting: metadata })
    const opening = openTransaction(ctx.newId, 'TransferRequested', intent, metadata)
    const { transactionId: id, change, guards, explain } = opening
    return append({ id, commit: { changes: [change], guards }, explain, made: viewOf(change) })
  })
}

/** Everything about a transfer that can be decided before it is recorded. */
export async function prepareIntent(
  ctx: SendContext,
  request: TransferRequest,
  owner: Owner & Requester,
): Promise<Intent> {
  const sender = await findPayer(ctx, owner, request.walletId)
  const now = ctx.log.now()
  const assetOf = (name: string) => ctx.resolveAsset(name, sender, owner.tenantId)
  const { asset, to, amount } = await readFields(request, { assetOf, now })
  const gas = await ctx.transferGas(sender.chainId, { from: sender.address, to, contract: asset.contract, amount })
  const { gasPriority, referenceId, memo, validUntil } = request
  const call = { opening: 'TransferRequested', data: null, dependsOn: null, subject: null } as const
  const wanted = { to, asset, amount, ...gas, gasPriority, referenceId, memo, validUntil, ...call }
  const { environment: _, ...requester } = owner
  return completeIntent(ctx, requester, sender, wanted, now)
}

/** What a transfer takes from its request. */
export type TransferFields = Pick<TransferRequest, 'to' | 'amount' | 'asset' | 'validUntil'>

/**
 * @param fieldOf the path of a field in the request, for errors
 * @throws ValidationFailed with all invalid fields, not only the first; errors of `assetOf`
 */
export async function readFields(
  request: TransferFields,
  {
    assetOf,
    now,
    fieldOf = (name) => name,
  }: {
    readonly assetOf: (name: string) => Promise<Asset>
    readonly now: string
    readonly fieldOf?: (name: string) => string
  },
): Promise<{ readonly asset: Asset; readonly to: string; readonly amount: bigint }> {
  const mistakes: ErrorItem[] = []
  const noted = (error: unknown): undefined => {
    if (!(error instanceof ValidationFailed)) throw error
    mistakes.push(...error.items)
  }
  const asset = await assetOf(request.asset).catch(noted)
  const to = attempt(() => parseRecipient(request.to, fieldOf('to')), noted)
  // The asset determines how many decimals an amount may have.
  const amount = asset && attempt(() => parsePositive(request.amount, asset, fieldOf('amount')), noted)
  attempt(() => requireFuture(request.validUntil, now, fieldOf('valid_until')), noted)
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

function parsePositive(text: string, { decimals }: Asset, field: string): bigint {
  const amount = parseAmount(text, decimals, field)
  if (amount === 0n) throw ValidationFailed.field(field, 'amount_zero', `${field} must be greater than 0.`)
  return amount
}
