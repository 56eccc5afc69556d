/** Finds the wallets affected by blocks, in the read models. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { Notifications, WalletType } from '../wallets/events.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { WalletStatus } from '../wallets/state.ts'
import {
  assetOf,
  type BalanceChain,
  chainPrefix,
  type HolderRow,
  holderOf,
  nativeOf,
  type RegisteredToken,
  tokenOf,
} from './chain.ts'
import type { Holding } from './read-holdings.ts'
import type { Touched } from './touched.ts'

/** Block numbers, both inclusive. */
export type Heights = { readonly lowest: number; readonly highest: number }

/** A holding of a wallet that blocks touched, with what else is recorded from the look-up. */
export type TouchedHolding = Holding & {
  readonly type: WalletType
  readonly status: WalletStatus
  /** Watched wallets only. */
  readonly notifications: Notifications | null
  /** Registered tokens have no price: anybody can deploy a token with the symbol of another. */
  readonly isPriced: boolean
  /**
   * The wallet is on another chain, and its key has no wallet on this one: what comes is told, and no balance is kept. The owner
   * of the key, of the environment of the chain.
   */
  readonly isUnopened: boolean
}

export type HolderReads<Found extends Holding = TouchedHolding> = {
  /** Wallets on the chain among the touched addresses; a token counts for the tenants that know it. */
  readonly touched: (chain: BalanceChain, touched: readonly Touched[]) => Promise<readonly Found[]>
  /**
   * Balances read at a height of this range from blocks with other hashes: a fork that the follower did not process.
   */
  readonly suspect: (chain: BalanceChain, heights: Heights, hashes: readonly string[]) => Promise<readonly Holding[]>
}

/** A value: a simulated chain has other `HolderReads`, without a database. */
export function createHolderReads(pool: Pool): HolderReads {
  return {
    touched: async (chain, touched) => opened(await findTouched(pool, chain, touched)),
    suspect: (chain, heights, hashes) => findSuspect(pool, chain, heights, hashes),
  }
}

type TouchedRow = HolderRow &
  RegisteredToken &
  Pick<
    Row<
      'wallets',
      {
        readonly type: WalletType
        readonly status: WalletStatus
        readonly notifications: Notifications | null
      }
    >,
    'type' | 'status' | 'notifications'
  > & { readonly contract: string | null; readonly is_unopened: boolean }

/**
 * The owner of a key that has no wallet on the chain `$1`, of whose environment `$5` it is. A watch wallet there is another
 * matter: it has no key.
 */
const UNOPENED = `w.environment = $5 AND w.key_ref IS NOT NULL AND w.opened_from IS NULL AND NOT EXISTS (
               SELECT FROM ${WALLETS} AS here WHERE lower(here.address) = touched.address AND here.chain_id = $1
                  AND here.tenant_id = w.tenant_id AND here.type <> 'watch')`

/** Those on the chain that was looked at. */
export function opened(touched: readonly TouchedHolding[]): readonly TouchedHolding[] {
  return touched.filter(({ isUnopened }) => !isUnopened)
}

/**
 * Wallets of tenants among the touched addresses, on the chain or with a key that has no wallet there. One look-up for each
 * address, however many wallets there are.
 */
export async function findTouched(
  pool: Pool,
  chain: BalanceChain,
  touched: readonly Touched[],
): Promise<TouchedHolding[]> {
  if (touched.length === 0) return []
  const { rows } = await pool.query<TouchedRow>({
    name: 'touched_wallets',
    text: `SELECT w.wallet_id, w.tenant_id, w.address, w.type, w.status, w.notifications, w.chain_id <> $1 AS is_unopened, touched.contract, a.asset_id, a.contract_address,
                  a.symbol, a.decimals
             FROM unnest($2::text[], $3::text[]) AS touched(address, contract)
             JOIN ${WALLETS} w ON lower(w.address) = touched.address AND (w.chain_id = $1 OR ${UNOPENED})
             LEFT JOIN assets a ON a.chain_id = $1 AND lower(a.contract_address) = touched.contract AND a.tenant_id = w.tenant_id
                  AND a.removed_at IS NULL
            WHERE touched.contract IS NULL OR touched.contract = ANY ($4) OR a.asset_id IS NOT NULL`,
    values: [
      chain.chainId,
      touched.map(({ address }) => address),
      touched.map(({ contract }) => contract),
      chain.tokens.map(({ contract }) => contract?.toLowerCase()),
      chain.environment,
    ],
  })
  return rows.flatMap((row) => {
    const { contract, type, status, notifications, is_unopened: isUnopened } = row
    const asset = contract === null ? nativeOf(chain) : tokenOf(chain, contract, row)
    if (asset === null) return []
    const isPriced = contract === null || chain.tokens.includes(asset)
    return [{ ...holderOf(row), asset, orphaned: null, type, status, notifications, isPriced, isUnopened }]
  })
}

type SuspectRow = HolderRow & RegisteredToken & Pick<Row<'balances'>, 'asset_id' | 'block_number' | 'block_hash'>

async function findSuspect(
  pool: Pool,
  chain: BalanceChain,
  { lowest, highest }: Heights,
  hashes: readonly string[],
): Promise<Holding[]> {
  const { rows } = await pool.query<SuspectRow>({
    name: 'suspect_balances',
    text: `SELECT w.wallet_id, w.tenant_id, w.address, b.asset_id, b.block_number, b.block_hash, a.contract_address, a.symbol, a.decimals
             FROM balances b
             JOIN ${WALLETS} w ON w.wallet_id = b.wallet_id AND w.address IS NOT NULL
             LEFT JOIN assets a ON a.tenant_id = b.tenant_id AND a.asset_id = b.asset_id AND a.removed_at IS NULL
            WHERE split_part(b.asset_id, '/', 1) = $1 AND b.block_number BETWEEN $2 AND $3 AND b.block_hash <> ALL ($4)`,
    values: [chainPrefix(chain.chainId), lowest, highest, hashes],
  })
  return rows.flatMap((row) => {
    const asset = assetOf(chain, row)
    const orphaned = { blockNumber: Number(row.block_number), blockHash: row.block_hash }
    return asset === null ? [] : [{ ...holderOf(row), asset, orphaned }]
  })
}
