/**
 * Accepts a batch of transfers, all or none: checks each item like a single transfer, then records all in one append,
 * which holds their total cost. From then on each is a transaction of its own. A refused batch leaves no trace.
 */
import type { Asset } from '../core/assets.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { fieldPath } from '../core/field-path.ts'
import { forResource, type Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { onceEach } from '../core/once-each.ts'
import type { Accepted } from '../event-log/accept.ts'
import type { GasPriority } from './events.ts'
import { completeIntent, explainRefusal, findPayer, openTransaction, requireFuture } from './prepare-transaction.ts'
import { readFields, type TransferRequest } from './request-transfer.ts'
import type { SendContext } from './send-context.ts'
import { type TransactionView, viewOf } from './view.ts'

/** What an item leaves out, the batch has. */
export type BatchItem = Pick<TransferRequest, 'to' | 'amount' | 'asset' | 'referenceId' | 'memo' | 'validUntil'> & {
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
    const assetOf = onceEach((name) => {
      const first = request.items.findIndex(({ asset }) => asset === name)
      return ctx.resolveAsset(name, sender, tenantId, fieldPath(['items', first, 'asset']))
    })
    const fields = await readItems(request, assetOf, now)
    const id = ctx.newId('transferBatch')
    const intents = await Promise.all(
      fields.map(async ({ item, asset, to, amount }) => {
        const wanted = { from: sender.address, to, contract: asset.contract, amount }
        const gas = await ctx.transferGas(sender.chainId, wanted)
        const { referenceId, memo, gasPriority, validUntil } = item
        const own = { gasPriority: gasPriority ?? request.gasPriority, validUntil: validUntil ?? request.validUntil }
        const subject = { type: 'transfer_batch', id }
        const call = { opening: 'TransferRequested', data: null, dependsOn: null, subject } as const
        return completeIntent(
          ctx,
          { tenantId, actor, accepting: metadata },
          sender,
          { to, asset, amount, ...gas, referenceId, memo, ...own, ...call },
          now,
        )
      }),
    )
    const recorded = forResource(metadata, id)
    // In order: a lane signs in the order of ids.
    const opened = intents.map((intent, part) =>
      openTransaction(ctx.newId, 'TransferRequested', intent, recorded, part),
    )
    const changes = opened.map(({ change }) => change)
    return append({
      id,
      commit: { changes, ...(opened[0] === undefined ? {} : { guards: opened[0].guards }) },
      explain: (error) => explainRefusal(error, intents, { isTransfer: false }),
      made: changes.map((change) => viewOf(change)),
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
