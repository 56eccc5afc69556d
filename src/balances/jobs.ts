/** Which jobs of the queue `observe` follow from events, what they do, and which wallets are queued again. */
import type { Pool } from 'pg'
import { ID_PREFIXES } from '../declarations.ts'
import type { Notice } from '../event-log/subscription.ts'
import type { Job, JobData } from '../jobs/queues.ts'
import type { BalanceChainOf } from './chain.ts'
import type { ObserveWallet } from './first-observation.ts'
import type { ReadForRecord } from './read-holdings.ts'
import type { ReadToken } from './read-token.ts'

/** Older ones are found by the reconciliation, which looks at every wallet. */
const LOOK_BACK_MS = 24 * 60 * 60 * 1_000

/** Events of which `balanceJobs` needs the data. */
export const BALANCE_JOB_DATA = ['AssetRegistered'] as const

/** A tenant registered a token: its wallets may hold some, and no log of the past tells. */
export function balanceJobs({ type, data, tenantId }: Omit<Notice, 'streamId'>): readonly Job[] {
  if (type !== 'AssetRegistered') return []
  const { chainId, contractAddress } = data as { readonly chainId: number; readonly contractAddress: string }
  const ids = { chain_id: String(chainId), tenant_id: tenantId, contract: contractAddress }
  return [{ queue: 'observe', id: `${tenantId}-${chainId}-${contractAddress}`, data: ids }]
}

export type ObserveJobPorts = {
  readonly observeWallet: ObserveWallet
  readonly readToken: ReadToken
  readonly readForRecord: ReadForRecord
  readonly chainOf: BalanceChainOf
}

/** Does a job of the queue `observe`: the first look at a wallet, or at what all wallets of a tenant hold of a token. */
export function createObserveJob({ observeWallet, readToken, readForRecord, chainOf }: ObserveJobPorts) {
  return async ({ wallet_id: walletId, tenant_id: tenantId, chain_id: chainId, contract }: JobData): Promise<void> => {
    if (walletId !== undefined) await observeWallet(walletId)
    if (tenantId === undefined || chainId === undefined || contract === undefined) return
    const chain = chainOf(Number(chainId))
    const read = (...[holdings, at]: Parameters<Parameters<ReadToken>[1]['read']>) => readForRecord(chain, holdings, at)
    await readToken(chain, { contract, tenantId, read })
  }
}

/**
 * Wallets that have an address and no balance, of each tenant in turn the oldest first. Wallet ids sort by the time at which they were made, so that
 * the search costs what one day's wallets cost.
 *
 * @param quietBefore wallets made later have a job of their own on the way
 */
export async function findUnobservedWallets(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ wallet_id: string }>({
    name: 'unobserved_wallets',
    text: `SELECT wallet_id FROM (SELECT w.wallet_id,
               row_number() OVER (PARTITION BY w.tenant_id ORDER BY w.wallet_id) AS turn
             FROM wallets w
            WHERE w.wallet_id > $1 AND w.address IS NOT NULL AND w.created_at < $2
              AND NOT EXISTS (SELECT FROM balances b WHERE b.wallet_id = w.wallet_id)) AS waiting
            ORDER BY turn, wallet_id LIMIT $3`,
    values: [lowestIdSince(quietBefore.getTime() - LOOK_BACK_MS), quietBefore, limit],
  })
  return rows.map(({ wallet_id }) => ({ queue: 'observe', id: wallet_id, data: { wallet_id } }))
}

/** What sorts before every wallet id of that time or later: a UUIDv7 begins with 48 bits of milliseconds (RFC 9562). */
function lowestIdSince(epochMs: number): string {
  const hex = Math.max(0, epochMs).toString(16).padStart(12, '0')
  return `${ID_PREFIXES.wallet}_${hex.slice(0, 8)}-${hex.slice(8)}`
}
