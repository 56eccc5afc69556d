/**
 * Accepts a mint: checks everything that can be known now, assigns token numbers, and records the mint with its
 * transactions in one append. A refused request leaves no trace.
 */
import { Conflict } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment } from '../../core/networks.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { decideNew } from '../../event-log/aggregate.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import { type PreparedTransaction, requireFuture } from '../../transactions/prepare-transaction.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { pinMetadata } from '../metadata/pin-metadata.ts'
import type { NftContext } from '../nft-context.ts'
import { outcomeOf } from '../outcome.ts'
import type { Place } from './allot.ts'
import { recordLazyMint } from './lazy-mint.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { Mint, MintToken } from './mint-events.ts'
import { type MadeMint, recordedMint } from './mint-view.ts'
import { planTransactions } from './plan-transactions.ts'
import { type AddressedItem, isAddressed, type RequestedMint, readItems } from './read-items.ts'

export type MintRequest = RequestedMint & { readonly collectionId: string }

export type AcceptedMint = Accepted<MadeMint>

/**
 * A collection that is still DEPLOYING accepts mints: they wait for it, in order.
 *
 * @throws NotFound, PermissionDenied `environment_mismatch`, ValidationFailed, Conflict `collection_failed`,
 *   `max_supply_reached`, `edition_out_of_sequence` or `wallet_archived`, InsufficientFunds, IdempotencyKeyReused,
 *   Unavailable
 */
export function mintTokens(
  ctx: NftContext,
  request: MintRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<AcceptedMint> {
  const attempt = (append: AppendPrepared) => mint(ctx, { request, metadata, environment }, append)
  return ctx.accept(metadata, attempt, { replayFirst: true })
}

async function mint(
  ctx: NftContext,
  { request, metadata, environment }: { request: MintRequest; metadata: Metadata; environment: Environment },
  append: AppendPrepared,
): Promise<AcceptedMint> {
  const { collections, allot } = ctx
  const owner = { tenantId: metadata.tenantId, environment }
  const collection = await collections.recall(owner, request.collectionId)
  const { standard, collection_type: collectionType } = collection
  const items = readItems(request, { standard, collectionType })
  const validUntil = request.validUntil === undefined ? null : new Date(request.validUntil).toISOString()
  requireFuture(validUntil, ctx.log.now())
  requireAlive(collection)
  await pinMetadata(
    ctx,
    items.map(({ content }) => content),
  )
  const allotment = {
    collectionId: collection.collection_id,
    count: items.length,
    maxSupply: collection.max_supply === null ? null : Number(collection.max_supply),
    ordered: items.some(({ edition }) => edition !== null),
  }
  const [item] = items
  if (request.mintingType === 'LAZY' && item !== undefined) {
    return allot(allotment, async ({ firstTokenId: tokenId }) => async () => {
      return recordLazyMint(ctx, { collection, item, tokenId, validUntil, metadata }, append)
    })
  }
  const addressed = items.filter(isAddressed)
  return allot(allotment, (place) => take(ctx, { request, collection, items: addressed, metadata }, place, append))
}

type Accepting = {
  readonly request: MintRequest
  readonly collection: CollectionRow
  readonly items: readonly AddressedItem[]
  readonly metadata: Metadata
}

async function take(
  ctx: NftContext,
  accepting: Accepting,
  place: Place,
  append: AppendPrepared,
): Promise<() => Promise<AcceptedMint>> {
  const { log, newId } = ctx
  const { request, collection, items, metadata } = accepting
  requireEditions(items, place)
  const mintId = newId('mint')
  const { prepared, tokens } = await prepareTransactions(ctx, accepting, { mintId, place })
  const [first] = prepared
  if (first === undefined) throw new Error('a mint must have at least one token')
  const mint: Mint = {
    tenantId: metadata.tenantId,
    collectionId: collection.collection_id,
    mintingType: request.mintingType,
    tokens,
    requestedAt: log.now(),
  }
  const recorded = decideNew(mintAggregate, mintId, { type: 'RecordMint', mint }, { metadata, now: mint.requestedAt })
  const commit = { decisions: [...prepared.map(({ decision }) => decision), recorded], guards: first.guards }
  const transactionIds = prepared.map(({ transactionId }) => transactionId)
  const made = { transactionIds, collection, view: recordedMint(collection, mintId, mint) }
  return () => append({ id: mintId, commit, explain: first.explain, made })
}

async function prepareTransactions(
  ctx: NftContext,
  { collection, items, metadata }: Accepting,
  { mintId, place }: { readonly mintId: string; readonly place: Place },
): Promise<{ readonly prepared: readonly PreparedTransaction[]; readonly tokens: readonly MintToken[] }> {
  const { standard, collection_type: collectionType } = collection
  const rules = await ctx.gasRules(collection.chain_id)
  const plan = { rules, standard, collectionType, firstTokenId: place.firstTokenId, items }
  const prepared: PreparedTransaction[] = []
  const tokens: MintToken[] = []
  for (const part of planTransactions(plan, ctx.maxTransactionGas)) {
    const transaction = await prepareCall(
      ctx,
      {
        owner: { tenantId: metadata.tenantId, environment: collection.environment },
        walletId: collection.wallet_id,
        kind: 'MintRequested',
        part: prepared.length,
        to: collection.contract_address,
        data: part.data,
        gasLimit: part.gasLimit,
        dependsOn: collection.transaction_id,
        subject: { type: 'mint', id: mintId },
      },
      metadata,
    )
    prepared.push(transaction)
    for (const [n, { recipient, amount, metadata: published, content }] of part.items.entries()) {
      tokens.push({
        tokenId: String(part.firstTokenId + n),
        recipient,
        amount: amount.toString(),
        metadata: published,
        cid: content.cid,
        transactionId: transaction.transactionId,
      })
    }
  }
  return { prepared, tokens }
}

function requireAlive(collection: CollectionRow): void {
  if (outcomeOf(collection) !== 'failed') return
  const why = collection.failure === null ? '' : ` (${collection.failure.message})`
  throw new Conflict(
    'collection_failed',
    `The contract of the collection was not deployed${why}: create another collection.`,
  )
}

/** A series is released in sequence: a request that names an edition gets that one or is refused. */
function requireEditions(items: readonly AddressedItem[], { ordinal }: Place): void {
  for (const [n, { edition, path }] of items.entries()) {
    const next = (ordinal ?? 0) + n + 1
    if (edition === null || edition === next) continue
    throw new Conflict(
      'edition_out_of_sequence',
      `${path}edition is ${edition}, but the next edition is ${next}: editions of a SERIES are minted in sequence. Omit edition to use the next one.`,
      { next_edition: next },
    )
  }
}
