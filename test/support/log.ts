/** An event log on a fresh database, and transfers to add to it. */
import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { newId } from '../../src/compose/new-id.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import { READ_MODEL_NAMES } from '../../src/declarations.ts'
import { type Accept, createAccept } from '../../src/event-log/accept.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { createWakeUps, type WakeUps } from '../../src/event-log/wake-ups.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { withDatabase } from './postgres.ts'

export type TestLog = {
  readonly url: string
  readonly pool: Pool
  readonly log: EventLog
  readonly accept: Accept
  readonly wakeUps: WakeUps
}

export const TEST_CHAIN = 1000001
export const NATIVE = nativeAsset('ethereum', TEST_CHAIN)

export async function withLog(t: Test, settings?: Parameters<typeof withDatabase>[1]): Promise<TestLog> {
  const { url, pool } = await withDatabase(t, settings)
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const log = createEventLog({ pool, wakeUps, clock: Date.now })
  return { url, pool, wakeUps, log, accept: createAccept({ log, pool, newId }) }
}

/** A transfer of native currency as its request records it. */
export function transferIntent(overrides: Partial<Intent> = {}): Intent {
  return {
    tenantId: 'acme',
    walletId: 'wal_1',
    network: 'ethereum',
    environment: 'mainnet',
    chainId: TEST_CHAIN,
    from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    asset: NATIVE,
    amount: 1_000n,
    data: null,
    dependsOn: null,
    subject: null,
    gasPriority: 'medium',
    reserved: { gasLimit: 21_000n, maxFeePerGas: 2n },
    quote: null,
    referenceId: null,
    memo: null,
    validUntil: null,
    estimatedCompletionAt: '2026-01-01T00:00:30.000Z',
    requestedAt: '2026-01-01T00:00:00.000Z',
    ...overrides,
  }
}

/** Every read model except the balances, when a test writes those itself without events. */
export const BUT_BALANCES = READ_MODEL_NAMES.filter((table) => table !== 'balances')

/** A wallet with a balance, written to the read models. */
export async function seedWallet(
  pool: Pool,
  wallet: { readonly walletId: string; readonly balance: bigint; readonly address?: string; readonly status?: string },
): Promise<void> {
  await pool.query(
    `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, created_at, version)
     VALUES ($1, 'acme', 'hd', 'ethereum', 'mainnet', $2, $3, '', $4, now(), 2)`,
    [wallet.walletId, TEST_CHAIN, wallet.address ?? transferIntent().from, wallet.status ?? 'active'],
  )
  await pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at) VALUES ($1, $2, 'acme', $3, 1, '0x', now())`,
    [wallet.walletId, NATIVE.assetId, wallet.balance.toString()],
  )
}

/** A transaction id that no other test has. */
export function newTransactionId(): string {
  return `tx_${randomUUID()}`
}
