/**
 * Changes or freezes a token's metadata: a transaction of the collection's owner wallet, recorded in one append with
 * its event. New metadata is pinned before. A refused request leaves no trace.
 */
import type { Pool } from 'pg'
import type { GasRules } from '../../chain/forks.ts'
import { Conflict } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment } from '../../core/networks.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { mustDecideOn } from '../../event-log/aggregate.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { CollectionRow } from '../collections/read-collections.ts'
import { encodeFreeze, encodeSetTokenDigest } from '../contracts/encode-calls.ts'
import { freezeGas, tokenUpdateGas } from '../contracts/gas.ts'
import { type Content, contentOf } from '../metadata/content.ts'
import { pinMetadata } from '../metadata/pin-metadata.ts'
import type { NftContext } from '../nft-context.ts'
import { type Outcome, outcomeOf, type TransactionFate } from '../outcome.ts'
import { readMintedToken } from './read-mints.ts'
import { tokenAggregate, tokenStreamId } from './token-aggregate.ts'
import { type FreezeFate, requireThawed, type TokenCommand } from './token-decider.ts'
import type { PublishedMetadata } from './token-events.ts'

export type TokenUpdateRequest = {
  readonly environment: Environment
  readonly collectionId: string
  readonly tokenId: string
  /** `null` to freeze. */
  readonly metadata: PublishedMetadata | null
}

/**
 * Accepts a transaction.
 *
 * @throws NotFound, PermissionDenied, Conflict (`collection_not_dynamic`, `token_not_minted`, `metadata_frozen`,
 *   `wallet_archived`), ValidationFailed `too_large`, InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export function updateToken(ctx: NftContext, request: TokenUpdateRequest, metadata: Metadata): Promise<Accepted> {
  const attempt = async (append: AppendPrepared) => {
    const owner = { tenantId: metadata.tenantId, environment: request.environment }
    const collection = await ctx.collections.read(owner, request.collectionId)
    await requireChangeable(ctx, collection, request.tokenId)
    const content = request.metadata === null ? null : contentOf(request.metadata)
    if (content !== null) await pinMetadata(ctx, [content])
    return tryUpdate(ctx, { request, collection, content, metadata }, append)
  }
  return ctx.accept(metadata, attempt, { replayFirst: true })
}

async function requireChangeable(
  { pool }: NftContext,
  { collection_id, collection_type }: CollectionRow,
  tokenId: string,
): Promise<void> {
  if (collection_type !== 'DYNAMIC') {
    const message = `The collection_type is ${collection_type}: only tokens of a DYNAMIC collection can be updated.`
    throw new Conflict('collection_not_dynamic', message)
  }
  const { status } = await readMintedToken(pool, collection_id, tokenId)
  if (status === 'MINTED') return
  throw new Conflict('token_not_minted', `The token is ${status}: it can be updated when it is MINTED.`, { status })
}

type Updating = {
  readonly request: TokenUpdateRequest
  readonly collection: CollectionRow
  readonly content: Content | null
  readonly metadata: Metadata
}

async function tryUpdate(
  ctx: NftContext,
  { request, collection, content, metadata }: Updating,
  append: AppendPrepared,
): Promise<Accepted> {
  const { log, pool } = ctx
  const { environment, tokenId } = request
  const { collection_id: collectionId } = collection
  const streamId = tokenStreamId(collectionId, tokenId)
  const loaded = await log.load(tokenAggregate, streamId)
  const { freezeId } = loaded.state
  const freeze: FreezeFate = freezeId === null ? null : await readFate(pool, freezeId)
  requireThawed(freeze)
  const rules = await ctx.gasRules(collection.chain_id)
  const prepared = await prepareCall(
    ctx,
    {
      owner: { tenantId: metadata.tenantId, environment },
      walletId: collection.wallet_id,
      kind: 'TokenUpdateRequested',
      to: collection.contract_address,
      ...callOf(rules, collection, tokenId, content),
      dependsOn: collection.transaction_id,
      subject: { type: 'token', id: streamId },
    },
    metadata,
  )
  const { transactionId, guards, explain } = prepared
  const now = log.now()
  const update = { tenantId: metadata.tenantId, collectionId, tokenId, transactionId, requestedAt: now }
  const command: TokenCommand =
    request.metadata === null || content === null
      ? { type: 'Freeze', update, freeze }
      : { type: 'ChangeMetadata', update, metadata: request.metadata, cid: content.cid, freeze }
  const changed = mustDecideOn(tokenAggregate, loaded, command, { metadata, now })
  return append({ id: transactionId, commit: { decisions: [prepared.decision, changed], guards }, explain, made: null })
}

function callOf(
  rules: GasRules,
  { standard, base_uri: baseUri }: CollectionRow,
  tokenId: string,
  content: Content | null,
) {
  const id = BigInt(tokenId)
  return content === null
    ? { data: encodeFreeze(id), gasLimit: freezeGas(rules, standard, baseUri) }
    : { data: encodeSetTokenDigest(id, content.digest), gasLimit: tokenUpdateGas(rules, standard, baseUri) }
}

/** The outcome of one transaction, as of the newest processed block. @throws Error for an unknown one: one named by an event always exists */
async function readFate(pool: Pool, transactionId: string): Promise<Outcome> {
  const { rows } = await pool.query<TransactionFate>({
    name: 'fate_of_transaction',
    text: `SELECT state, succeeded FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $1`,
    values: [transactionId],
  })
  const [row] = rows
  if (row === undefined) throw new Error(`transaction ${transactionId} does not exist`)
  return outcomeOf(row)
}
