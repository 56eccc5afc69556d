/**
 * Changes a token's metadata, or freezes it: a transaction by the collection's owner wallet, recorded in one append with what
 * it does. New metadata is pinned before. What is refused leaves no trace.
 */
import { encodeFreeze, encodeSetTokenDigest } from '../../chain/nft.ts'
import { freezeGas, tokenUpdateGas } from '../../chain/nft-gas.ts'
import { Conflict } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment } from '../../core/networks.ts'
import { change } from '../../event-log/aggregate.ts'
import { appendOnce } from '../../event-log/append-once.ts'
import { StreamConflict } from '../../event-log/commit.ts'
import type { FindReplay } from '../../event-log/find-replay.ts'
import type { EventLog } from '../../event-log/log.ts'
import { prepareCall } from '../../transactions/prepare-call.ts'
import type { PreparePorts } from '../../transactions/prepare-transaction.ts'
import type { CollectionReads, CollectionRow } from '../collections/read-collections.ts'
import { type Content, contentOf } from '../metadata/content.ts'
import type { PinMetadata } from '../metadata/pin-metadata.ts'
import type { MintReads } from '../mints/read-mints.ts'
import { type FreezeFate, requireThawed, type TokenCommand } from './decider.ts'
import type { PublishedMetadata } from './events.ts'
import { tokenAggregate, tokenStreamId } from './projection.ts'

export type UpdateTokenPorts = PreparePorts & {
  readonly log: EventLog
  readonly findReplay: FindReplay
  readonly collections: CollectionReads
  readonly mints: Pick<MintReads, 'token'>
  readonly pinMetadata: PinMetadata
  /** What became of the transaction that was to freeze. */
  readonly fateOf: (transactionId: string) => Promise<'pending' | 'done' | 'failed'>
}

export type TokenUpdateRequest = {
  readonly environment: Environment
  readonly collectionId: string
  readonly tokenId: string
  /** `null` to freeze. */
  readonly metadata: PublishedMetadata | null
}

export type UpdatedToken = { readonly transactionId: string; readonly replayed: boolean }

/**
 * @throws NotFound, PermissionDenied, Conflict (`collection_not_dynamic`, `token_not_minted`, `metadata_frozen`,
 *   `wallet_archived`), ValidationFailed `too_large`, InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export type UpdateToken = (request: TokenUpdateRequest, metadata: Metadata) => Promise<UpdatedToken>

/** Who loses a race against another request decides anew. */
const MAX_TRIES = 5

export function createUpdateToken(ports: UpdateTokenPorts): UpdateToken {
  const { collections, findReplay, pinMetadata } = ports
  return async (request, metadata) => {
    const before = await findReplay(metadata)
    if (before !== null) return { transactionId: before, replayed: true }
    const owner = { tenantId: metadata.tenantId, environment: request.environment }
    const collection = await collections.read(owner, request.collectionId)
    await requireChangeable(ports, collection, request.tokenId)
    const content = request.metadata === null ? null : contentOf(request.metadata)
    if (content !== null) await pinMetadata([content])
    for (let tries = 1; ; tries += 1) {
      try {
        return await tryUpdate(ports, { request, collection, content }, metadata)
      } catch (error) {
        if (!(error instanceof StreamConflict) || tries >= MAX_TRIES) throw error
      }
    }
  }
}

async function requireChangeable(
  { mints }: UpdateTokenPorts,
  { collection_id, collection_type }: CollectionRow,
  tokenId: string,
): Promise<void> {
  if (collection_type !== 'DYNAMIC') {
    const message = `The collection_type is ${collection_type}: only tokens of a DYNAMIC collection can change.`
    throw new Conflict('collection_not_dynamic', message)
  }
  const { status } = await mints.token(collection_id, tokenId)
  if (status === 'MINTED') return
  throw new Conflict('token_not_minted', `The token is ${status}: it can change once it is MINTED.`, { status })
}

type Updating = {
  readonly request: TokenUpdateRequest
  readonly collection: CollectionRow
  readonly content: Content | null
}

async function tryUpdate(
  ports: UpdateTokenPorts,
  { request, collection, content }: Updating,
  metadata: Metadata,
): Promise<UpdatedToken> {
  const { log, fateOf } = ports
  const { environment, tokenId } = request
  const { collection_id: collectionId } = collection
  const streamId = tokenStreamId(collectionId, tokenId)
  const loaded = await log.load(tokenAggregate, streamId)
  const { freezeId } = loaded.state
  const freeze: FreezeFate = freezeId === null ? null : await fateOf(freezeId)
  requireThawed(freeze)
  const prepared = await prepareCall(
    ports,
    {
      owner: { tenantId: metadata.tenantId, environment },
      walletId: collection.wallet_id,
      kind: 'TokenUpdateRequested',
      to: collection.contract_address,
      ...callOf(collection, tokenId, content),
      dependsOn: collection.transaction_id,
      subject: { type: 'token', id: streamId },
    },
    metadata,
  )
  const { transactionId } = prepared
  const now = log.now()
  const update = { tenantId: metadata.tenantId, collectionId, tokenId, transactionId, requestedAt: now }
  const command: TokenCommand =
    request.metadata === null || content === null
      ? { type: 'Freeze', update, freeze }
      : { type: 'ChangeMetadata', update, metadata: request.metadata, cid: content.cid, freeze }
  const changed = change(tokenAggregate, loaded, command, { metadata, now })
  if (changed === null) throw new Error('an update always decides something')
  const commit = { changes: [prepared.change, changed], guards: prepared.guards }
  const opened = await appendOnce(log, commit, { resourceId: transactionId, metadata }).catch((error) => {
    throw prepared.explain(error)
  })
  return { transactionId: opened.id, replayed: opened.replayed }
}

function callOf({ standard, base_uri: baseUri }: CollectionRow, tokenId: string, content: Content | null) {
  const id = BigInt(tokenId)
  return content === null
    ? { data: encodeFreeze(id), gasLimit: freezeGas(standard, baseUri) }
    : { data: encodeSetTokenDigest(id, content.digest), gasLimit: tokenUpdateGas(standard, baseUri) }
}
