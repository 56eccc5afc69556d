/** Wallets on a followed chain, and their recorded balances. */
import type { Test } from 'tap'
import { balanceAggregate } from '../../src/balances/aggregate.ts'
import type { BalanceEvent } from '../../src/balances/events.ts'
import type { Notifications } from '../../src/wallets/events.ts'
import type { FollowedChain } from './followed-chain.ts'
import { NATIVE, TEST_CHAIN } from './log.ts'
import { eventually } from './sandbox-eventually.ts'

type TestWallet = {
  readonly address: string | null
  readonly tenantId?: string
  readonly status?: string
  readonly type?: 'hd' | 'watch'
  readonly notifications?: Notifications
}

/** An unused address; it has no letters, so it is its own checksum. */
export function fresh(n: number): string {
  return `0x${String(n).padStart(40, '1')}`
}

export async function addWallet({ pool }: FollowedChain, walletId: string, wallet: TestWallet): Promise<void> {
  const { address, tenantId = 'acme', status = 'active', type = 'watch', notifications = null } = wallet
  await pool.query(
    `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, created_at, version, notifications)
     VALUES ($1, $2, $6, 'ethereum', 'mainnet', $3, $4, '', $5, now(), 1, $7)`,
    [walletId, tenantId, TEST_CHAIN, address, status, type, notifications],
  )
}

type BalanceRow = { readonly balance: string; readonly block_number: string; readonly block_hash: string }

export async function rowOf(
  { pool }: FollowedChain,
  walletId: string,
  asset: { readonly assetId: string } = NATIVE,
): Promise<BalanceRow | undefined> {
  const { rows } = await pool.query<BalanceRow>(
    'SELECT balance, block_number, block_hash FROM balances WHERE wallet_id = $1 AND asset_id = $2',
    [walletId, asset.assetId],
  )
  return rows[0]
}

export async function balanceOf(chain: FollowedChain, walletId: string, asset = NATIVE): Promise<string | undefined> {
  return (await rowOf(chain, walletId, asset))?.balance
}

export function untilBalance(chain: FollowedChain, walletId: string, balance: string, asset = NATIVE): Promise<true> {
  return eventually(async () => (await balanceOf(chain, walletId, asset)) === balance)
}

/** Until the follower has processed the newest block. */
export function untilWalked({ pool, head }: FollowedChain): Promise<true> {
  return eventually(async () => {
    const { rows } = await pool.query<{ number: string }>('SELECT number FROM chain_cursors')
    return Number(rows[0]?.number) === (await head())
  })
}

export function eventsOf({ log }: FollowedChain, walletId: string) {
  return log.readStream<BalanceEvent>(balanceAggregate, walletId)
}

/** Every row rebuilt from the streams equals the live one; so does the state for deciding commands. */
export async function sameWhenMadeAgain(t: Test, chain: FollowedChain): Promise<void> {
  const { pool, log, balances } = chain
  const { rows: live } = await pool.query<Record<string, unknown> & { readonly wallet_id: string }>(
    'SELECT * FROM balances ORDER BY wallet_id, asset_id',
  )
  const ids = [...new Set(live.map(({ wallet_id }) => wallet_id))]
  const rebuilt = (await Promise.all(ids.map((id) => rebuild(chain, id)))).flat()
  t.strictSame(
    rebuilt,
    live.map(({ updated_at, block_number, ...row }) => {
      return { ...row, block_number: Number(block_number), updated_at: (updated_at as Date).toISOString() }
    }),
  )
  const loaded = await balances.load(ids)
  t.strictSame(
    ids.map((id) => loaded.get(id)),
    await log.loadMany(balanceAggregate, ids),
  )
}

async function rebuild(chain: FollowedChain, id: string): Promise<unknown[]> {
  const rows = new Map<string, unknown>()
  let state = balanceAggregate.initialState
  for (const event of await eventsOf(chain, id)) {
    const after = balanceAggregate.evolve(state, event)
    const { metadata, streamVersion: version, recordedAt } = event
    const context = { id, tenantId: metadata.tenantId, version, recordedAt }
    for (const { row } of balanceAggregate.project(state, after, context).rows) rows.set(String(row.asset_id), row)
    state = after
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
