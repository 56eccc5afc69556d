/** Reads balances from the read model, or from the log as of a time; each is one named statement. */
import type { Pool } from 'pg'
import type { Asset } from '../core/assets.ts'
import { upcast } from '../event-log/aggregate.ts'
import type { EventRow } from '../event-log/rows.ts'
import { EVENTS } from '../event-log/sql.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import { HOLDS } from '../transactions/sql.ts'
import type { PositiveBalance } from '../wallets/archive-wallet.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { balanceAggregate } from './aggregate.ts'
import type { BalanceEvent } from './events.ts'
import { MAX_PRICE_AGE_MS } from './prices.ts'
import type { FoundBalance } from './view.ts'

/**
 * An asset, and the source of the claim that it is what its symbol says.
 *
 * Invariant: a registered asset has no price: prices are looked up by symbol, and anybody can deploy a token called
 * USDC.
 */
export type NamedAsset = Asset & { readonly source: 'native' | 'configured' | 'registered' }

export type WalletOnChain = { readonly walletId: string; readonly chainId: number }

/** The record of an asset. `known` is `null` when it was never observed. */
export type RecordedBalance = {
  readonly asset: Asset
  readonly known: { readonly balance: bigint; readonly blockNumber: number; readonly updatedAt: string } | null
  readonly held: bigint
  readonly price: string | null
  /** Set while the token's contract cannot be read: the balance may be outdated since then. */
  readonly unread: { readonly since: string; readonly quarantined: boolean } | null
}

type RecordedRow = OrNull<
  Pick<Row<'balances'>, 'balance' | 'block_number' | 'updated_at'> &
    Pick<Row<'wallet_holds'>, 'held'> &
    Pick<Row<'prices'>, 'usd'> &
    Pick<Row<'unread_tokens'>, 'quarantined_at'> & { unread_since: Row<'unread_tokens'>['since'] }
>

/** The current record, in the order of the assets. @param now ms since the epoch */
export async function findRecorded(
  pool: Pool,
  { walletId, chainId }: WalletOnChain,
  assets: readonly NamedAsset[],
  now: number,
): Promise<RecordedBalance[]> {
  const { rows } = await pool.query<RecordedRow>({
    name: 'balances_of_wallet',
    text: `SELECT b.balance, b.block_number, b.updated_at, h.held, p.usd, u.since AS unread_since, u.quarantined_at
             FROM unnest($2::text[], $3::text[], $6::text[]) WITH ORDINALITY AS wanted(asset_id, price_symbol, contract, n)
             LEFT JOIN balances b ON b.wallet_id = $1 AND b.asset_id = wanted.asset_id
             LEFT JOIN ${HOLDS} h ON h.wallet_id = $1 AND h.asset_id = wanted.asset_id
             LEFT JOIN prices p ON p.chain_id = $4 AND p.symbol = wanted.price_symbol AND p.updated_at > $5
             LEFT JOIN unread_tokens u ON u.chain_id = $4 AND u.contract = wanted.contract
            ORDER BY wanted.n`,
    values: [
      walletId,
      assets.map(({ assetId }) => assetId),
      assets.map(({ symbol, source }) => (source === 'registered' ? null : symbol)),
      chainId,
      new Date(now - MAX_PRICE_AGE_MS),
      assets.map(({ contract }) => contract),
    ],
  })
  return assets.map((asset, index) => {
    const row = rows[index]
    const since = row?.unread_since ?? null
    const unread = since && { since: since.toISOString(), quarantined: row?.quarantined_at != null }
    return { asset, known: knownOf(row), held: BigInt(row?.held ?? 0), price: row?.usd ?? null, unread }
  })
}

function knownOf(row: RecordedRow | undefined): RecordedBalance['known'] {
  if (row?.balance == null || row.updated_at === null) return null
  return {
    balance: BigInt(row.balance),
    blockNumber: Number(row.block_number),
    updatedAt: row.updated_at.toISOString(),
  }
}

type KnownRow = Pick<EventRow, 'type' | 'schema_version' | 'data'> & {
  readonly n: string
  /** Of the tenant's registration of the token by then. */
  readonly registered: Pick<Asset, 'symbol' | 'decimals'> | null
}

/**
 * What was known at a time, even if its block later left the chain, in the decimals that the asset had then. Assets
 * without an observation by then are left out.
 */
export async function findKnownAt(
  pool: Pool,
  { walletId, tenantId }: Pick<WalletFacts, 'walletId' | 'tenantId'>,
  assets: readonly NamedAsset[],
  at: Date,
): Promise<FoundBalance[]> {
  const { rows } = await pool.query<KnownRow>({
    name: 'balances_known_at',
    text: `SELECT wanted.n, e.type, e.schema_version, e.data, registered.data AS registered
             FROM unnest($2::text[], $4::text[]) WITH ORDINALITY AS wanted(asset_id, registration, n)
             CROSS JOIN LATERAL (
               SELECT type, schema_version, data FROM ${EVENTS} AS events
                WHERE stream_id = $1 AND type IN ('BalanceChanged', 'BalanceReorged')
                  AND data->'asset'->>'assetId' = wanted.asset_id AND recorded_at <= $3
                ORDER BY recorded_at DESC, stream_version DESC LIMIT 1) AS e
              LEFT JOIN LATERAL (
               SELECT data FROM ${EVENTS} AS events
                WHERE stream_id = wanted.registration AND type = 'AssetRegistered' AND recorded_at <= $3
                ORDER BY stream_version DESC LIMIT 1) AS registered ON true
            ORDER BY wanted.n`,
    values: [
      `${balanceAggregate.category}-${walletId}`,
      assets.map(({ assetId }) => assetId),
      at,
      assets.map(({ assetId, source }) => (source === 'registered' ? `asset-${assetId}@${tenantId}` : null)),
    ],
  })
  return rows.flatMap((row) => {
    const asset = assets[Number(row.n) - 1]
    if (asset === undefined) return []
    const { data } = upcast<BalanceEvent>(balanceAggregate.schemas, row.type, row.schema_version, row.data)
    const { balance, blockNumber, observedAt: updatedAt } = data
    const { symbol, decimals } = row.registered ?? data.asset
    const then = { ...asset, symbol, decimals }
    return [
      { asset: then, balance: BigInt(balance), blockNumber, updatedAt, held: null, price: null, staleSince: null },
    ]
  })
}

/** The recorded balances of a wallet that are above zero. */
export async function findPositive(pool: Pool, walletId: string): Promise<PositiveBalance[]> {
  const { rows } = await pool.query<PositiveBalance>({
    name: 'positive_balances',
    text: 'SELECT asset_id, balance FROM balances WHERE wallet_id = $1 AND balance > 0 ORDER BY asset_id',
    values: [walletId],
  })
  return rows
}
