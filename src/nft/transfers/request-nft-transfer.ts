/**
 * Accepts a token transfer: checks everything that can be known now, from processed blocks and by simulating the calls,
 * then records it with its transactions in one append. A refused request leaves no trace.
 */

import { ValidationFailed } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment } from '../../core/networks.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { decideNew } from '../../event-log/aggregate.ts'
import { UniqueRuleBroken } from '../../event-log/append.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import type { PreparedTransaction } from '../../transactions/prepare-transaction.ts'
import { findByAddress } from '../../wallets/find-by-address.ts'
import type { HeldCollection } from '../collections/read-collections.ts'
import { RECEIVER_GAS } from '../contracts/gas-rules.ts'
import type { NftContext } from '../nft-context.ts'
import { nftTransferAggregate } from './aggregate.ts'
import type { NftTransfer, TransferItem } from './events.ts'
import { findHoldings, type HeldToken } from './find-holdings.ts'
import { type PlannedCall, planCalls } from './plan-calls.ts'
import { type Fields, type NftTransferRequest, readFields } from './read-fields.ts'
import { requireHeld } from './require-held.ts'
import { notTransferable, type Simulated, simulate } from './simulate.ts'

/**
 * @throws NotFound, PermissionDenied `environment_mismatch`, ValidationFailed (a field, `not_your_wallet`, `watch_only`,
 *   `not_holder`, `token_not_found`, `exceeds_balance`, `unsafe_recipient`, `not_transferable`), Conflict `token_in_transfer`,
 *   InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export function requestNftTransfer(
  ctx: NftContext,
  request: NftTransferRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted> {
  const attempt = async (append: AppendPrepared) => {
    const owner = { tenantId: metadata.tenantId, environment }
    const collection = await ctx.collections.readHeld(owner, request.collectionId, request.from)
    const fields = readFields(request, collection.standard)
    if (!collection.transferable) throw notTransferable()
    const walletId = await findSender(ctx, fields, collection, metadata)
    const accepting = { request, fields, collection, walletId, metadata }
    // Concurrent requests for the same tokens would only conflict.
    const tokens = fields.items.map(({ tokenId }) => tokenId).join(' ')
    return ctx.inTurn(`${collection.collection_id} ${fields.from} ${tokens}`, () => record(ctx, accepting, append))
  }
  return ctx.accept(metadata, attempt, { isConflict: isOvertaken })
}

type Accepting = {
  readonly request: NftTransferRequest
  readonly fields: Fields
  readonly collection: HeldCollection
  readonly walletId: string
  readonly metadata: Metadata
}

/** Another request for the same token was recorded meanwhile. */
function isOvertaken(error: unknown): boolean {
  return error instanceof UniqueRuleBroken && error.constraint === 'nft_transfer_items_in_sequence'
}

async function record(ctx: NftContext, accepting: Accepting, append: AppendPrepared): Promise<Accepted> {
  const { request, fields, collection, metadata } = accepting
  const { standard, contract_address: contract, chain_id: chainId } = collection
  const held = await findHoldings(ctx.pool, {
    collectionId: collection.collection_id,
    mintsOf: collection.tenant_id === metadata.tenantId ? collection.collection_id : null,
    chainId,
    contract,
    from: fields.from,
    tokenIds: fields.items.map(({ tokenId }) => tokenId),
  })
  requireHeld(request, fields, held, standard)
  const rules = await ctx.gasRules(chainId)
  const calls = planCalls(fields, held, { rules, standard, transferType: request.transferType })
  const simulated = await simulate(ctx.chainOf(chainId), request, fields, { contract, standard }, calls)
  const transferId = ctx.newId('nftTransfer')
  const prepared = await prepareCalls(ctx, accepting, { transferId, calls, simulated })
  const [first] = prepared
  if (first === undefined) throw new Error('a transfer must have at least one item')
  const transfer = recordOf(ctx, accepting, { calls, prepared, held, simulated })
  const command = { type: 'RecordTransfer', transfer } as const
  const recorded = decideNew(nftTransferAggregate, transferId, command, { metadata, now: transfer.requestedAt })
  const commit = { decisions: [...prepared.map(({ decision }) => decision), recorded], guards: first.guards }
  return append({ id: transferId, commit, explain: first.explain, made: null })
}

async function findSender(
  { pool }: NftContext,
  { from }: Fields,
  { chain_id: chainId, network }: HeldCollection,
  { tenantId }: Metadata,
): Promise<string> {
  const wallet = await findByAddress(pool, { tenantId, chainId, address: from })
  if (wallet === null) {
    const message = `from must be the address of one of your active wallets on ${network}, not ${from}.`
    throw ValidationFailed.field('from', 'not_your_wallet', message)
  }
  if (wallet.type === 'watch') {
    const message = 'from is a watch wallet, which cannot sign: use an hd or mpc wallet.'
    throw ValidationFailed.field('from', 'watch_only', message)
  }
  return wallet.walletId
}

async function prepareCalls(
  ctx: NftContext,
  { collection, walletId, metadata }: Accepting,
  plan: { readonly transferId: string; readonly calls: readonly PlannedCall[]; readonly simulated: Simulated },
): Promise<PreparedTransaction[]> {
  const prepared: PreparedTransaction[] = []
  // Sequentially: they are signed in the order of their ids.
  for (const { to, data, gasLimit, dependsOn } of plan.calls) {
    const request = {
      owner: { tenantId: metadata.tenantId, environment: collection.environment },
      walletId,
      kind: 'NftTransferRequested',
      uncounted: 'An NFT has no amount that they count.',
      part: prepared.length,
      to: collection.contract_address,
      data,
      gasLimit: gasLimit + (plan.simulated.contracts.has(to) ? RECEIVER_GAS.added : 0n),
      dependsOn,
      subject: { type: 'nft_transfer', id: plan.transferId },
    } as const
    prepared.push(await prepareCall(ctx, request, metadata))
  }
  return prepared
}

function recordOf(
  { log, completionMs }: NftContext,
  { request, fields, collection, walletId, metadata }: Accepting,
  made: {
    readonly calls: readonly PlannedCall[]
    readonly prepared: readonly PreparedTransaction[]
    readonly held: readonly HeldToken[]
    readonly simulated: Simulated
  },
): NftTransfer {
  const transactionIds = new Map(
    made.calls.flatMap(({ items }, n) => items.map((item) => [item, made.prepared[n]?.transactionId ?? ''] as const)),
  )
  const requestedAt = log.now()
  return {
    tenantId: metadata.tenantId,
    collectionId: collection.collection_id,
    walletId,
    network: collection.network,
    environment: collection.environment,
    chainId: collection.chain_id,
    from: fields.from,
    transferType: request.transferType,
    items: fields.items.map(
      ({ tokenId, to, amount }, item): TransferItem => ({
        tokenId,
        to,
        amount: amount.toString(),
        transactionId: transactionIds.get(item) ?? '',
        sequence: (made.held[item]?.transfers ?? 0) + 1,
      }),
    ),
    warnings: made.simulated.warnings,
    estimatedCompletionAt: new Date(Date.parse(requestedAt) + completionMs(collection.chain_id)).toISOString(),
    requestedAt,
  }
}
