/**
 * Removes a registered token of a tenant: it cannot be named any more, and its balances are not read for the tenant.
 */
import { parseAddress } from '../chain/address.ts'
import type { Context } from '../context.ts'
import { Conflict, NotFound, ValidationFailed } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Row } from '../event-log/table-rows.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import { typesTakingMore } from '../transactions/kinds.ts'
import { HOLDS, isInBlock, isUnmined, TRANSACTIONS } from '../transactions/sql.ts'
import { assetAggregate, assetStreamId } from './aggregate.ts'
import type { AssetBooks } from './asset-books.ts'
import type { AssetChain } from './asset-index.ts'
import { findRemoved, type RemovedAsset } from './find-removed.ts'

const FIELD = 'asset_id'
const ERC20_ID = /^eip155:(\d{1,19})\/erc20:(0x[0-9a-fA-F]{40})$/
const NATIVE_ID = /^eip155:\d+\/slip44:\d+$/
/** Maximum number of blocking transfers named in the response. */
const MAX_NAMED = 20

type RemoveAssetContext = Pick<Context, 'pool' | 'log'> & { readonly books: AssetBooks }

export type Removal = RemovedAsset & { readonly chain: AssetChain }

/**
 * Removing a removed token changes nothing and returns the same response. Pending transactions of the token are checked
 * before the removal is recorded: a transfer accepted at the same instant is still sent.
 *
 * @param chains of the caller's environment
 * @param assetId CAIP-19, in any case of the address
 * @throws ValidationFailed `invalid_asset_id`; NotFound `asset_not_found`; Conflict `asset_not_registered` for an asset
 *   that the tenant did not register, or `asset_has_pending_transactions`
 */
export async function removeAsset(
  ctx: RemoveAssetContext,
  chains: readonly AssetChain[],
  assetId: string,
  { metadata }: { readonly metadata: Metadata },
): Promise<Removal> {
  const { log, books } = ctx
  const { tenantId } = metadata
  const { chain, contract } = readId(chains, assetId)
  const known = (await books.open(tenantId, chain, { fresh: true })).byContract(contract)
  if (known !== undefined && known.source !== 'registered') throw notYours(known.symbol)
  if (known !== undefined) {
    await requireNothingPending(ctx, tenantId, { chainId: chain.chainId, assetId: known.assetId })
    const command = { type: 'RemoveAsset', now: log.now() } as const
    await log.execute(assetAggregate, assetStreamId(tenantId, known.assetId), command, { metadata })
    await books.open(tenantId, chain, { fresh: true })
  }
  const removed = await findRemoved(ctx.pool, tenantId, chain, contract)
  if (removed === null) throw new NotFound('asset')
  return { ...removed, chain }
}

function readId(chains: readonly AssetChain[], assetId: string): { chain: AssetChain; contract: string } {
  if (NATIVE_ID.test(assetId)) throw notYours('The native currency')
  const [, chainId, address] = ERC20_ID.exec(assetId) ?? []
  if (chainId === undefined || address === undefined) {
    throw ValidationFailed.field(
      FIELD,
      'invalid_asset_id',
      `${FIELD} must be an asset_id from GET /v1/assets, percent-encoded: eip155%3A1%2Ferc20%3A0x….`,
    )
  }
  const chain = chains.find((one) => String(one.chainId) === chainId)
  if (chain === undefined) throw new NotFound('asset')
  return { chain, contract: parseAddress(address, FIELD) }
}

/** Each branch uses its own partial index. */
const PENDING = `
  SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE tenant_id = $1 AND asset_id = $2
     AND ${isUnmined('transactions')}
  UNION ALL
  SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE tenant_id = $1 AND asset_id = $2 AND ${isInBlock('transactions')}
  LIMIT ${MAX_NAMED}`

/** Calls that may take the asset besides their own: their requests say it, in the log. */
const OPEN_CALLS = `
  SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE tenant_id = $1 AND chain_id = $3 AND type = $4
     AND ${isUnmined('transactions')}
     AND EXISTS (SELECT FROM ${HOLDS} AS holds WHERE holds.wallet_id = transactions.wallet_id AND holds.asset_id = $2 AND holds.held > 0)
  UNION ALL
  SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE tenant_id = $1 AND chain_id = $3 AND type = $4 AND asset_id <> $2
     AND ${isInBlock('transactions')}`
/** Calls loaded at once. */
const PAGE = 64

type Asset = { readonly chainId: number; readonly assetId: string }

async function requireNothingPending(ctx: RemoveAssetContext, tenantId: string, asset: Asset): Promise<void> {
  const own = await idsOf(ctx, PENDING, [tenantId, asset.assetId])
  const pending = own.length > 0 ? own : await callsTaking(ctx, tenantId, asset)
  if (pending.length === 0) return
  throw new Conflict(
    'asset_has_pending_transactions',
    'The asset has pending transactions: wait until they are final, or cancel them, then remove the asset.',
    { transaction_ids: pending },
  )
}

async function callsTaking({ pool, log }: RemoveAssetContext, tenantId: string, asset: Asset): Promise<string[]> {
  const { chainId, assetId } = asset
  const found = await Promise.all(
    typesTakingMore().map((type) => idsOf({ pool }, OPEN_CALLS, [tenantId, assetId, chainId, type])),
  )
  const calls = found.flat()
  const taking: string[] = []
  for (let n = 0; n < calls.length && taking.length < MAX_NAMED; n += PAGE) {
    for (const { id, state } of await log.loadMany(transactionAggregate, calls.slice(n, n + PAGE))) {
      const { outflows = [] } = state.state === 'unknown' ? {} : state.intent
      if (outflows.some((outflow) => outflow.asset.assetId === assetId)) taking.push(id)
    }
  }
  return taking.slice(0, MAX_NAMED)
}

async function idsOf({ pool }: Pick<RemoveAssetContext, 'pool'>, text: string, values: unknown[]): Promise<string[]> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>(text, values)
  return rows.map(({ transaction_id }) => transaction_id)
}

function notYours(symbol: string): Conflict {
  return new Conflict(
    'asset_not_registered',
    `${symbol} was not registered by you: only tokens that you registered can be removed.`,
  )
}
