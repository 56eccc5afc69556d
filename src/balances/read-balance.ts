/**
 * Reads the balances of a wallet from the follower's read model. A wallet or token that was not observed yet is read
 * from the chain without recording it; the first observation does that.
 */
import type { Context } from '../context.ts'
import { nativeAsset } from '../core/assets.ts'
import { ChainRefused, NotFound, Unavailable } from '../core/errors.ts'
import { toInstant } from '../core/ids.ts'
import { readPastTime } from '../core/past-time.ts'
import type { Owner } from '../core/tenants.ts'
import { untilSettled } from '../event-log/settled.ts'
import { type FindWallet, withAddress } from '../wallets/find-wallet.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import type { BalanceChainOf } from './chain.ts'
import { findKnownAt, findRecorded, type NamedAsset, type RecordedBalance } from './find-balances.ts'
import { newestBlock, readHoldings } from './read-holdings.ts'
import { type BalanceView, type FoundBalance, toView } from './view.ts'

export type BalanceQuestion = {
  /** A symbol, contract address or asset id; default is the native currency. */
  readonly asset?: string | undefined
  /** Also return every other known asset. */
  readonly tokens: boolean
  /** ISO 8601: the balance as known then. */
  readonly at?: string | undefined
}

/**
 * Archived wallets are included: deposits to them still show.
 *
 * @throws NotFound `wallet_not_found`, or `balance_not_observed` for a time before the first observation;
 *   PermissionDenied; Conflict `wallet_not_ready` or `ambiguous_asset`; ValidationFailed for the asset or the time;
 *   Unavailable when the chain must be read and no node answers
 */
export async function readBalance(
  ctx: Pick<Context, 'pool' | 'clock'> & {
    readonly findWallet: FindWallet
    /** @throws ValidationFailed `unknown_asset`, Conflict `ambiguous_asset` */
    readonly assetNamed: (wallet: WalletFacts, name: string) => Promise<NamedAsset>
    /** Every asset that the wallet's tenant may name on its chain, the native currency first. */
    readonly assetsOf: (wallet: WalletFacts) => Promise<readonly NamedAsset[]>
    readonly balanceChainOf: BalanceChainOf
  },
  owner: Owner,
  walletId: string,
  question: BalanceQuestion,
): Promise<BalanceView> {
  const wallet = await ctx.findWallet(owner, walletId)
  const at = question.at === undefined ? null : readPastTime(question.at, ctx.clock())
  const asset = question.asset === undefined ? nativeOf(wallet) : await ctx.assetNamed(wallet, question.asset)
  const others = question.tokens ? await ctx.assetsOf(wallet) : []
  const assets = [...new Map([asset, ...others].map((each) => [each.assetId, each])).values()]
  const found = at === null ? await findNow(ctx, wallet, assets) : await findThen(ctx, wallet, assets, at)
  const views = new Map(found.map((each) => [each.asset.assetId, toView(wallet.network, each)]))
  const view = views.get(asset.assetId)
  if (view === undefined) throw at === null ? silentToken(asset) : notObserved(asset, question.at ?? '')
  const asOf = at === null ? {} : { as_of: at.toISOString() }
  if (!question.tokens) return { ...view, ...asOf }
  return { ...view, ...asOf, assets: others.flatMap(({ assetId }) => views.get(assetId) ?? []) }
}

function nativeOf({ network, chainId }: WalletFacts): NamedAsset {
  return { ...nativeAsset(network, chainId), source: 'native' }
}

async function findThen(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  wallet: WalletFacts,
  assets: readonly NamedAsset[],
  at: Date,
): Promise<FoundBalance[]> {
  await untilSettled(at, clock)
  return findKnownAt(pool, wallet, assets, at)
}

async function findNow(
  ctx: Pick<Context, 'pool' | 'clock'> & { readonly balanceChainOf: BalanceChainOf },
  wallet: WalletFacts,
  assets: readonly NamedAsset[],
): Promise<FoundBalance[]> {
  const recorded = await findRecorded(ctx.pool, wallet, assets, ctx.clock())
  const unseen = recorded.filter(({ known, unread }) => known === null && unread?.quarantined !== true)
  const live = unseen.length === 0 ? new Map<string, FoundBalance>() : await readLive(ctx, wallet, unseen)
  return recorded.flatMap(({ asset, known, held, price, unread }) =>
    known === null
      ? (live.get(asset.assetId) ?? [])
      : [{ asset, ...known, held, price, staleSince: unread?.since ?? null }],
  )
}

async function readLive(
  { balanceChainOf, clock }: Pick<Context, 'clock'> & { readonly balanceChainOf: BalanceChainOf },
  wallet: WalletFacts,
  unseen: readonly RecordedBalance[],
): Promise<Map<string, FoundBalance>> {
  const { walletId, tenantId, address } = withAddress(wallet)
  const chain = balanceChainOf(wallet.chainId)
  const holdings = unseen.map(({ asset }) => ({ walletId, tenantId, address, asset, orphaned: null }))
  const { readings, failed } = await readHoldings(chain, holdings, await newestBlock(chain))
  if (failed.some(({ reason }) => reason === 'unread'))
    throw new Unavailable('rpc_unavailable', 'No node returned the balance of the token in time: try again later.')
  const observations = new Map(readings.map(({ observation }) => [observation.asset.assetId, observation]))
  const updatedAt = toInstant(clock())
  return new Map(
    unseen.flatMap(({ asset, held, price }): [string, FoundBalance][] => {
      const seen = observations.get(asset.assetId)
      if (seen === undefined) return []
      const { balance, blockNumber } = seen
      return [
        [asset.assetId, { asset, balance: BigInt(balance), blockNumber, updatedAt, held, price, staleSince: null }],
      ]
    }),
  )
}

function silentToken({ symbol, contract }: NamedAsset): ChainRefused {
  return new ChainRefused(
    'token_silent',
    `The contract of ${symbol} (${contract}) returned no balance: it does not exist, or is not an ERC-20 contract.`,
  )
}

function notObserved({ symbol }: NamedAsset, at: string): NotFound {
  return new NotFound(
    'balance',
    'balance_not_observed',
    `No balance of ${symbol} was recorded at or before ${at}: use a later time.`,
  )
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly balances: Parameters<typeof readBalance>[0]
  }
}
