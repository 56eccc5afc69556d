/**
 * Accepts a transfer, or a batch of them, all or none: checks everything that can be known now, then records the request and
 * holds its maximum cost, in one append. From then on each transfer of a batch is a transaction of its own. A refused request
 * holds nothing; `ctx.accept` reports what a limit or a policy refuses.
 */

import { parseRecipient } from '../chain/address.ts'
import type { Asset } from '../core/assets.ts'
import { type CallerFields, pickCallerFields } from '../core/caller-fields.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { forResource, type Metadata } from '../core/messages.ts'
import { parseAmount } from '../core/money.ts'
import type { Environment } from '../core/networks.ts'
import { onceEach } from '../core/once-each.ts'
import type { Owner } from '../core/tenants.ts'
import type { Accepted } from '../event-log/accept.ts'
import type { GasPriority, Intent } from './intent.ts'
import {
  completeIntent,
  explainRefusal,
  findPayer,
  openTransaction,
  type Requester,
  requireFuture,
} from './prepare-transaction.ts'
import type { SendContext } from './send-context.ts'
import { type TransactionView, viewOf } from './view.ts'

export type TransferRequest = CallerFields & {
  readonly walletId: string
  readonly to: string
  readonly amount: string
  /** A symbol, or a contract address. */
  readonly asset: string
  readonly gasPriority: GasPriority
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
    const { transactionId: id, decision, guards, explain } = opening
    return append({ id, commit: { decisions: [decision], guards }, explain, made: viewOf(decision) })
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
  const own = { gasPriority: request.gasPriority, ...pickCallerFields(request) }
  const call = { opening: 'TransferRequested', data: null, dependsOn: null, subject: null } as const
  const wanted = { to, asset, amount, ...gas, ...own, ...call }
  const { environment: _, ...requester } = owner
  return completeIntent(ctx, requester, sender, wanted, now)
}

/** What a transfer takes from its request. */
export type TransferFields = Pick<TransferRequest, 'to' | 'amount' | 'asset' | 'validUntil'>

/**
 * @param fieldOf the path of a field in the request, for errors
 * @throws ValidationFailed with all invalid fields, not only the first; errors of `assetOf`
 */
async function readFields(
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

/** What an item leaves out, the batch has. */
export type BatchItem = Pick<TransferRequest, 'to' | 'amount' | 'asset' | keyof CallerFields> & {
  readonly gasPriority: GasPriority | null
}

export type BatchRequest = {
  readonly walletId: string
  /** 1 to 100. */
  readonly items: readonly BatchItem[]
  readonly gasPriority: GasPriority
  readonly validUntil: string | null
}

/**
 * The wallet is looked up once, each asset once, and the code of all recipients in one body to a node. It returns the
 * transactions in the order of the items.
 *
 * @throws NotFound, ValidationFailed (fields of items, `watch_only`), Conflict `wallet_archived`, `ambiguous_asset` or
 *   `token_unreadable`, InsufficientFunds with the total of an asset, IdempotencyKeyReused, Unavailable
 */
export function requestTransfers(
  ctx: SendContext,
  request: BatchRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted<readonly TransactionView[]>> {
  return ctx.accept(metadata, async (append) => {
    const { tenantId, actor } = metadata
    const owner = { tenantId, environment }
    const sender = await findPayer(ctx, owner, request.walletId)
    const now = ctx.log.now()
    const assetOf = onceEach((name: string) => {
      const first = request.items.findIndex(({ asset }) => asset === name)
      return ctx.resolveAsset(name, sender, tenantId, fieldPath(['items', first, 'asset']))
    })
    const fields = await readItems(request, assetOf, now)
    const id = ctx.newId('transferBatch')
    const intents = await Promise.all(
      fields.map(async ({ item, asset, to, amount }) => {
        const wanted = { from: sender.address, to, contract: asset.contract, amount }
        const gas = await ctx.transferGas(sender.chainId, wanted)
        const own = {
          ...pickCallerFields(item),
          gasPriority: item.gasPriority ?? request.gasPriority,
          validUntil: item.validUntil ?? request.validUntil,
        }
        const subject = { type: 'transfer_batch', id }
        const call = { opening: 'TransferRequested', data: null, dependsOn: null, subject } as const
        return completeIntent(
          ctx,
          { tenantId, actor, accepting: metadata },
          sender,
          { to, asset, amount, ...gas, ...own, ...call },
          now,
        )
      }),
    )
    const recorded = forResource(metadata, id)
    // In order: a lane signs in the order of ids.
    const opened = intents.map((intent, part) =>
      openTransaction(ctx.newId, 'TransferRequested', intent, recorded, part),
    )
    const decisions = opened.map(({ decision }) => decision)
    return append({
      id,
      commit: { decisions, ...(opened[0] === undefined ? {} : { guards: opened[0].guards }) },
      explain: (error) => explainRefusal(error, intents, { isTransfer: false }),
      made: decisions.map((decision) => viewOf(decision)),
    })
  })
}

/** @throws ValidationFailed with every invalid field; an unknown asset is reported for the first item that names it */
async function readItems({ items, validUntil }: BatchRequest, assetOf: (name: string) => Promise<Asset>, now: string) {
  const mistakes = new Map<string, ErrorItem>()
  const noted = (error: unknown): null => {
    if (!(error instanceof ValidationFailed)) throw error
    for (const item of error.items) mistakes.set(`${item.field} ${item.code}`, item)
    return null
  }
  try {
    requireFuture(validUntil, now)
  } catch (error) {
    noted(error)
  }
  const fields = await Promise.all(
    items.map(async (item, n) => {
      const fieldOf = (name: string) => fieldPath(['items', n, name])
      return readFields(item, { assetOf, now, fieldOf }).then((read) => ({ item, ...read }), noted)
    }),
  )
  if (mistakes.size > 0) throw new ValidationFailed([...mistakes.values()])
  return fields.filter((one) => one !== null)
}
