/** The work of balances: wallets that wait for their first balance, and tokens that a tenant registered. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { Job, JobData } from '../jobs/queues.ts'
import type { Occurrence, Work } from '../jobs/work.ts'
import { wallets } from '../wallets/declaration.ts'
import type { WalletEvent } from '../wallets/events.ts'
import { WALLETS_THEMSELVES } from '../wallets/jobs.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceContext } from './balance-context.ts'
import { observeWallet } from './first-observation.ts'
import { readToken, type TokenPages } from './read-token.ts'

/** The reconciliation, which checks every wallet, finds older ones. */
const LOOK_BACK_MS = 24 * 60 * 60 * 1_000

/** Events after which a wallet has an address and no balance. */
const ADDRESSED: ReadonlySet<string> = new Set<WalletEvent['type']>(['WalletCreated', 'WatchStarted'])

export const balanceWork: Work = {
  name: 'balances',
  queue: 'observe',
  dataOf: ['AssetRegistered'],
  jobsOf(event) {
    if (ADDRESSED.has(event.type)) return [walletJob(event.streamId.slice('wallet-'.length))]
    return event.type === 'AssetRegistered' ? [tokenJob(event)] : []
  },
  findQuiet: findUnobservedWallets,
  findOpen: findUnobserved,
  owners: WALLETS_THEMSELVES,
}

function walletJob(walletId: string): Job {
  return { queue: 'observe', id: walletId, data: { wallet_id: walletId } }
}

/** A tenant registered a token: its wallets can hold some already, and blocks of the past are not read again. */
function tokenJob({ data, tenantId }: Occurrence): Job {
  const { chainId, contractAddress } = data as { readonly chainId: number; readonly contractAddress: string }
  const ids = { chain_id: String(chainId), tenant_id: tenantId, contract: contractAddress }
  return { queue: 'observe', id: `${tenantId}-${chainId}-${contractAddress}`, data: ids }
}

/** Runs a job of the queue `observe`: the first observation of a wallet, or of a token for all wallets of a tenant. */
export async function observeJob(
  ctx: Omit<BalanceContext, 'unread'>,
  { wallet_id: walletId, tenant_id: tenantId, chain_id: chainId, contract }: JobData,
): Promise<void> {
  if (walletId !== undefined) await observeWallet(ctx, walletId)
  if (tenantId === undefined || chainId === undefined || contract === undefined) return
  const chain = ctx.chainOf(Number(chainId))
  const read: TokenPages['read'] = (holdings, at) => ctx.readForRecord(chain, holdings, at)
  await readToken(ctx, chain, { contract, tenantId, read })
}

/**
 * Wallets with an address and no balance, tenants in turn, oldest first. Wallet ids sort by creation time, so the
 * search costs as much as one day's wallets.
 *
 * @param quietBefore wallets created later still have their own job
 */
async function findUnobservedWallets(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id'>>({
    name: 'unobserved_wallets',
    text: `SELECT wallet_id FROM (SELECT w.wallet_id,
               row_number() OVER (PARTITION BY w.tenant_id ORDER BY w.wallet_id) AS turn
             FROM ${WALLETS} w
            WHERE w.wallet_id > $1 AND w.address IS NOT NULL AND w.created_at < $2
              AND NOT EXISTS (SELECT FROM balances b WHERE b.wallet_id = w.wallet_id)) AS waiting
            ORDER BY turn, wallet_id LIMIT $3`,
    values: [lowestIdSince(quietBefore.getTime() - LOOK_BACK_MS), quietBefore, limit],
  })
  return rows.map((row) => walletJob(row.wallet_id))
}

/** Wallets without a balance. No row shows whether a token that a tenant registered was read: its job stays. */
async function findUnobserved(pool: Pool, ids: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>({
    name: 'open_observe',
    text: `SELECT id FROM unnest($1::text[]) AS id WHERE NOT EXISTS (SELECT FROM balances b WHERE b.wallet_id = id)`,
    values: [ids],
  })
  return rows.map(({ id }) => id)
}

/**
 * A lower bound of wallet ids created at that time or later: a UUIDv7 begins with 48 bits of milliseconds (RFC 9562).
 */
function lowestIdSince(epochMs: number): string {
  const hex = Math.max(0, epochMs).toString(16).padStart(12, '0')
  return `${wallets.ids.wallet}_${hex.slice(0, 8)}-${hex.slice(8)}`
}
