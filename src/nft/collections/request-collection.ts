/**
 * Accepts a collection: its contract's address is derived from the request, so it is known before anything is sent. The
 * collection and its deployment transactions are recorded in one append. A refused request leaves no trace.
 */
import { parseRecipient } from '../../chain/address.ts'
import { ValidationFailed } from '../../core/errors.ts'
import type { Metadata } from '../../core/messages.ts'
import type { Environment, Network } from '../../core/networks.ts'
import type { Owner } from '../../core/tenants.ts'
import type { Accepted, AppendPrepared } from '../../event-log/accept.ts'
import { decideNew } from '../../event-log/aggregate.ts'
import { findPayer } from '../../transactions/prepare-transaction.ts'
import type { Sender } from '../../transactions/send-context.ts'
import { type CollectionConfig, collectionSalt, predictCollectionAddress } from '../contracts/collection.ts'
import { type Content, contentOf, metadataUri } from '../metadata/content.ts'
import { pinMetadata } from '../metadata/pin-metadata.ts'
import type { NftContext } from '../nft-context.ts'
import { collectionAggregate } from './aggregate.ts'
import { requireFit } from './decider.ts'
import type { Collection, CollectionType, PublishedCollection, Standard } from './events.ts'
import { issuerWallet } from './issuer-wallet.ts'
import { findFactory, prepareDeployment } from './prepare-deployment.ts'

export type CollectionRequest = {
  readonly name: string
  readonly symbol: string
  readonly description: string | undefined
  readonly externalUrl: string | undefined
  readonly image: string | undefined
  readonly standard: Standard
  readonly collectionType: CollectionType
  /** `null`: the wallet's, or ethereum. */
  readonly network: Network | null
  /** `null`: the issuer wallet of the tenant. */
  readonly walletId: string | null
  /** Basis points (hundredths of a percent). */
  readonly royaltyBps: number
  /** `null`: the owner. */
  readonly royaltyRecipient: string | null
  readonly maxSupply: number | null
  readonly transferable: boolean
}

/**
 * @throws ValidationFailed (a field, `watch_only`, `network_not_configured`, `network_mismatch`), NotFound and
 *   PermissionDenied for the wallet, Conflict `wallet_archived`, InsufficientFunds, IdempotencyKeyReused, ChainRefused,
 *   Unavailable
 */
export function requestCollection(
  ctx: NftContext,
  request: CollectionRequest,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted> {
  return ctx.accept(metadata, async (append) => {
    const owner = { tenantId: metadata.tenantId, environment }
    requireFit(request)
    const recipient = request.royaltyRecipient && parseRecipient(request.royaltyRecipient, 'royalty_recipient')
    const sender = await findOwner(ctx, request, owner, metadata)
    const document = documentOf(request)
    const content = contentOf(document)
    await pinMetadata(ctx, [content])
    const wanted = { ...request, royaltyRecipient: recipient, document, content }
    const record = () => recordCollection(ctx, wanted, { owner, sender, metadata }, append)
    // Of two concurrent first collections of a wallet, the second waits for the first one's factory and deploys none
    // itself.
    const { hasFactory, hasImplementation } = await findFactory(ctx, sender.chainId, request.standard)
    return hasFactory && hasImplementation ? record() : ctx.inTurn(sender.walletId, record)
  })
}

async function findOwner(
  ctx: NftContext,
  { walletId, network }: CollectionRequest,
  owner: Owner,
  metadata: Metadata,
): Promise<Sender> {
  const payer = walletId ?? (await issuerWallet(ctx, owner, network ?? 'ethereum', metadata))
  const sender = await findPayer(ctx, owner, payer)
  if (network === null || sender.network === network) return sender
  throw ValidationFailed.field(
    'network',
    'network_mismatch',
    `network is ${network} but the wallet is on ${sender.network}: omit network, or send the wallet_id of a wallet on ${network}.`,
  )
}

function documentOf({ name, symbol, description, image, externalUrl }: CollectionRequest): PublishedCollection {
  return {
    name,
    symbol,
    ...(description === undefined ? {} : { description }),
    ...(image === undefined ? {} : { image }),
    ...(externalUrl === undefined ? {} : { external_link: externalUrl }),
  }
}

type Wanted = CollectionRequest & { readonly document: PublishedCollection; readonly content: Content }

async function recordCollection(
  ctx: NftContext,
  wanted: Wanted,
  { owner, sender, metadata }: { readonly owner: Owner; readonly sender: Sender; readonly metadata: Metadata },
  append: AppendPrepared,
): Promise<Accepted> {
  const { log, newId } = ctx
  const metadataBase = metadataUri(ctx.config.metadataBaseUrl, '')
  const collectionId = newId('collection')
  const salt = collectionSalt(collectionId)
  const config = configOf(wanted, sender, metadataBase)
  const { prepared, kind } = await prepareDeployment(ctx, { owner, sender, collectionId, config, salt }, metadata)
  const deployment = prepared.at(-1)
  if (deployment === undefined) throw new Error('the last call deploys the collection')
  const requestedAt = log.now()
  const collection: Collection = {
    tenantId: owner.tenantId,
    walletId: sender.walletId,
    network: sender.network,
    environment: sender.environment,
    chainId: sender.chainId,
    owner: sender.address,
    standard: config.standard,
    collectionType: config.kind,
    name: config.name,
    symbol: config.symbol,
    metadata: wanted.document,
    cid: wanted.content.cid,
    baseUri: metadataBase,
    royaltyBps: config.royaltyBps,
    royaltyRecipient: config.royaltyRecipient,
    maxSupply: config.maxSupply,
    transferable: config.transferable,
    contractAddress: predictCollectionAddress(config, salt, sender.address, kind),
    salt,
    transactionId: deployment.transactionId,
    requestedAt,
  }
  const command = { type: 'RequestCollection', collection } as const
  const requested = decideNew(collectionAggregate, collectionId, command, { metadata, now: requestedAt })
  const commit = { decisions: [...prepared.map(({ decision }) => decision), requested], guards: deployment.guards }
  return append({ id: collectionId, commit, explain: deployment.explain, made: null })
}

function configOf(wanted: Wanted, { address }: Sender, metadataBase: string): CollectionConfig {
  const { royaltyBps, royaltyRecipient } = wanted
  return {
    standard: wanted.standard,
    kind: wanted.collectionType,
    name: wanted.name,
    symbol: wanted.symbol,
    // The contract adds `ipfs://` itself.
    baseUri: metadataBase === 'ipfs://' ? '' : metadataBase,
    contractDigest: wanted.content.digest,
    owner: address,
    royaltyRecipient: royaltyRecipient ?? (royaltyBps > 0 ? address : null),
    royaltyBps,
    maxSupply: wanted.maxSupply,
    transferable: wanted.transferable,
  }
}
