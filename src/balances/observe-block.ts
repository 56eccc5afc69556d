/**
 * What walked blocks mean for balances: the follower commits the changes together with those of transactions and with its
 * cursor. The cost grows with the blocks, not with the wallets: nothing polls an address.
 */
import type { Pool } from 'pg'
import type { Block } from '../chain/blocks.ts'
import type { ChainKey } from '../core/networks.ts'
import type { Change } from '../event-log/aggregate.ts'
import {
  assetOf,
  type BalanceChain,
  type BalanceChainOf,
  chainPrefix,
  nativeOf,
  type RegisteredToken,
  tokenOf,
} from './chain.ts'
import { decideReadings } from './decide-readings.ts'
import type { LoadBalances } from './load-balances.ts'
import { blockAt, type Holding, type ReadForRecord } from './read-holdings.ts'
import { type Touched, touchedBy } from './touched.ts'

export type ObserveBalancesPorts = {
  readonly pool: Pool
  readonly load: LoadBalances
  readonly chainOf: BalanceChainOf
  readonly readForRecord: ReadForRecord
}

export type FollowedChain = ChainKey & { readonly chainId: number }

export type BalanceObserver = {
  /**
   * Changes for the wallets that the blocks touched, of all tenants and archived ones too, as of the last block.
   *
   * @param blocks consecutive, oldest first
   * @param now ISO 8601
   * A token that cannot be read stops nothing: its balances stay as they are, and are read again later.
   *
   * @throws Unavailable when no node answers. An append of the changes may meet a StreamConflict: observe again
   */
  readonly observeBalances: (walked: {
    readonly chain: FollowedChain
    readonly blocks: readonly Block[]
    readonly now: string
  }) => Promise<Change[]>
  /** Changes for the balances that were observed above the newest block that is still on the chain, as of that block. */
  readonly unwind: (reorg: {
    readonly chain: FollowedChain
    readonly ancestorNumber: number
    readonly now: string
  }) => Promise<Change[]>
}

const ACTOR = 'chain-follower'

export function createBalanceObserver({ pool, load, chainOf, readForRecord }: ObserveBalancesPorts): BalanceObserver {
  return {
    async observeBalances({ chain: { chainId }, blocks, now }) {
      const [first, last] = [blocks[0], blocks.at(-1)]
      if (first === undefined || last === undefined) return []
      const chain = chainOf(chainId)
      const [touched, suspect] = await Promise.all([
        findTouched(pool, chain, touchedBy(blocks)),
        findSuspect(pool, chain, { lowest: first.number, highest: last.number }, blocks.map(hashOf)),
      ])
      const readings = await readForRecord(chain, withoutDoubles([...suspect, ...touched]), {
        blockNumber: last.number,
        blockHash: last.hash,
      })
      return decideReadings(readings, { load, cause: 'block', now, actor: ACTOR })
    },

    async unwind({ chain: { chainId }, ancestorNumber, now }) {
      const chain = chainOf(chainId)
      const suspect = await findSuspect(
        pool,
        chain,
        { lowest: ancestorNumber + 1, highest: Number.MAX_SAFE_INTEGER },
        [],
      )
      if (suspect.length === 0) return []
      const readings = await readForRecord(chain, suspect, await blockAt(chain, ancestorNumber))
      return decideReadings(readings, { load, cause: 'block', now, actor: ACTOR })
    },
  }
}

type HolderRow = { readonly wallet_id: string; readonly tenant_id: string; readonly address: string }

/** Our wallets among the touched addresses; a token counts for the tenants that know it. */
async function findTouched(pool: Pool, chain: BalanceChain, touched: readonly Touched[]): Promise<Holding[]> {
  if (touched.length === 0) return []
  const { rows } = await pool.query<HolderRow & RegisteredToken & { readonly contract: string | null }>({
    name: 'touched_wallets',
    text: `SELECT w.wallet_id, w.tenant_id, w.address, touched.contract, a.asset_id, a.contract_address, a.symbol, a.decimals
             FROM unnest($2::text[], $3::text[]) AS touched(address, contract)
             JOIN wallets w ON w.chain_id = $1 AND lower(w.address) = touched.address
             LEFT JOIN assets a ON a.chain_id = $1 AND lower(a.contract_address) = touched.contract AND a.tenant_id = w.tenant_id
                  AND a.removed_at IS NULL
            WHERE touched.contract IS NULL OR touched.contract = ANY ($4) OR a.asset_id IS NOT NULL`,
    values: [
      chain.chainId,
      touched.map(({ address }) => address),
      touched.map(({ contract }) => contract),
      chain.tokens.map(({ contract }) => contract?.toLowerCase()),
    ],
  })
  return rows.flatMap((row) => {
    const asset = row.contract === null ? nativeOf(chain) : tokenOf(chain, row.contract, row)
    return asset === null ? [] : [{ ...holderOf(row), asset, orphaned: null }]
  })
}

type SuspectRow = HolderRow &
  RegisteredToken & { readonly asset_id: string; readonly block_number: string; readonly block_hash: string }

/** Balances that were read at a height of the given range, from other blocks than these: a fork that nobody walked. */
async function findSuspect(
  pool: Pool,
  chain: BalanceChain,
  { lowest, highest }: { readonly lowest: number; readonly highest: number },
  hashes: readonly string[],
): Promise<Holding[]> {
  const { rows } = await pool.query<SuspectRow>({
    name: 'suspect_balances',
    text: `SELECT w.wallet_id, w.tenant_id, w.address, b.asset_id, b.block_number, b.block_hash, a.contract_address, a.symbol, a.decimals
             FROM balances b
             JOIN wallets w ON w.wallet_id = b.wallet_id AND w.address IS NOT NULL
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

function holderOf(row: HolderRow): { walletId: string; tenantId: string; address: string } {
  return { walletId: row.wallet_id, tenantId: row.tenant_id, address: row.address }
}

function hashOf({ hash }: Block): string {
  return hash
}

/** The first of each wallet and asset. */
function withoutDoubles(holdings: readonly Holding[]): Holding[] {
  const seen = new Set<string>()
  return holdings.filter(({ walletId, asset }) => {
    const key = `${walletId} ${asset.assetId}`
    return !seen.has(key) && seen.add(key)
  })
}
