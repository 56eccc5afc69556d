/**
 * Registers an ERC-20 contract for a tenant: its symbol and decimals are read on chain, never taken from the caller.
 */
import { parseAddress } from '../chain/address.ts'
import type { ChainClient } from '../chain/client-set.ts'
import { describeToken } from '../chain/token-metadata.ts'
import type { Context } from '../context.ts'
import { tokenAsset } from '../core/assets.ts'
import { ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Accept, Accepted, AcceptUnchanged, AppendPrepared } from '../event-log/accept.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { assetAggregate, assetStreamId } from './aggregate.ts'
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain, KnownAsset } from './asset-index.ts'
import { findRemoved, type RemovedAsset } from './find-removed.ts'

const FIELD = 'contract_address'

/** What registering needs of the API process. */
export type RegisterAssetContext = Pick<Context, 'log' | 'pool'> & {
  readonly accept: Accept
  readonly books: AssetBooks
  /** `foreign` reads third-party contracts, separate from the service's own reads. */
  readonly chainOf: (chainId: number) => Pick<ChainClient, 'foreign'>
}

export type Registration = {
  readonly asset: KnownAsset
  /** False when the asset was already known at the first request with the key. */
  readonly isNew: boolean
  /** ISO 8601: set when an earlier request with the same key registered it and it was removed since. */
  readonly removedAt: string | null
  /** True when an earlier request with the same idempotency key registered it. */
  readonly replayed: boolean
}

/** @throws ValidationFailed `not_a_token` or for the address; Unavailable when no node answers; IdempotencyKeyReused */
export async function registerAsset(
  ctx: RegisterAssetContext,
  chain: AssetChain,
  contractAddress: string,
  { metadata }: { readonly metadata: Metadata },
): Promise<Registration> {
  const contract = parseAddress(contractAddress, FIELD)
  const find = async () => (await ctx.books.open(metadata.tenantId, chain, { fresh: true })).byContract(contract)
  const known = await find()
  const attempt = (append: AppendPrepared, unchanged: AcceptUnchanged) =>
    known === undefined
      ? record(ctx, { chain, contract, metadata }, append, unchanged)
      : unchanged({ id: known.assetId, environment: chain.environment }, null)
  const { id, replayed } = await ctx.accept(metadata, attempt, { replayFirst: true })
  const asset = known ?? (await find())
  const found =
    asset === undefined
      ? removedSince(await findRemoved(ctx.pool, metadata.tenantId, chain, contract))
      : { asset, removedAt: null }
  return { ...found, isNew: id === found.asset.assetId, replayed }
}

/** The request was fulfilled once, and its asset was removed: it must not be registered again. */
function removedSince(removed: RemovedAsset | null): RemovedAsset {
  if (removed === null) throw new Error('a registered asset must be in the read model')
  return removed
}

/** Registers it, unless a concurrent request has. */
async function record(
  { log, chainOf }: RegisterAssetContext,
  place: { readonly chain: AssetChain; readonly contract: string; readonly metadata: Metadata },
  append: AppendPrepared,
  unchanged: AcceptUnchanged,
): Promise<Accepted> {
  const { chain, contract, metadata } = place
  const { network, environment, chainId } = chain
  const described = await describeToken(chainOf(chainId).foreign, contract)
  if ('flaw' in described) {
    const message = `${FIELD} is not an ERC-20 token on ${network}: ${described.flaw}. Send the address of another contract.`
    throw ValidationFailed.field(FIELD, 'not_a_token', message)
  }
  const { token } = described
  const now = log.now()
  const { assetId } = tokenAsset(chainId, contract, token.symbol, token.decimals)
  const loaded = await log.load(assetAggregate, assetStreamId(metadata.tenantId, assetId))
  const asset = { assetId, network, environment, chainId, contractAddress: contract, ...token, registeredAt: now }
  const registered = decideOn(assetAggregate, loaded, { type: 'RegisterAsset', asset }, { metadata, now })
  if (registered === null) return unchanged({ id: assetId, environment }, null)
  return append({ id: assetId, commit: { decisions: [registered] }, made: null })
}
