/** Tens of thousands of read model rows, written without the log: for tests of queries. */
import type { Pool } from 'pg'
import { nativeAsset } from '../../src/core/assets.ts'
import { SANDBOX_CHAIN_IDS } from '../../src/sandbox/networks.ts'
import { statusOf, type TransactionStateName } from '../../src/transactions/state.ts'

const TEST_CHAIN = SANDBOX_CHAIN_IDS.ethereum
const NATIVE = nativeAsset('ethereum', TEST_CHAIN)

/** SQL: the address of a number, counting up from 0x1000…0001, as recorded. */
const addressOf = (n: string) => `'0x1' || lpad(to_hex(${n}), 39, '0')`

/** The same, of a wallet. */
export function walletAddress(n: number): string {
  return `0x1${n.toString(16).padStart(39, '0')}`
}

type ManyWallets = {
  readonly count: number
  /** The number of the first. */
  readonly first?: number
  readonly tenants?: number
  readonly chainId?: number
}

/** Wallets `wal_0000001` and so on, of the tenants `tenant_0` and so on in turn. */
export async function insertWallets(
  pool: Pool,
  { count, first = 1, tenants = 1, chainId = TEST_CHAIN }: ManyWallets,
): Promise<void> {
  await pool.query(
    `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, created_at, version)
     SELECT 'wal_' || lpad(n::text, 7, '0'), 'tenant_' || n % $3, 'hd', 'ethereum', 'mainnet', $2, ${addressOf('n')}, '', 'active', now(), 1
       FROM generate_series($4::integer, $4::integer + $1::integer - 1) AS n`,
    [count, chainId, tenants, first],
  )
}

type ManyTransactions = {
  /** SQL of a number `n`: the sending wallet, counted from 1. */
  readonly wallet: string
  readonly count: number
  readonly state: TransactionStateName
  /** SQL of a number `n`. */
  readonly nonce?: string
  readonly block?: string
  /** Distinguishes what is inserted in several calls. */
  readonly prefix?: string
  readonly tenant?: string
}

/** Transactions that changed an hour ago. */
export async function insertTransactions(pool: Pool, many: ManyTransactions): Promise<void> {
  const { wallet, count, state, nonce = 'NULL', block = 'NULL', prefix = 'tx', tenant = 'tenant_0' } = many
  await pool.query(
    `INSERT INTO transactions (transaction_id, tenant_id, wallet_id, network, environment, chain_id, type, state, status, from_address,
                               to_address, asset_id, asset_symbol, asset_decimals, amount, gas_priority, nonce, block_number, block_hash,
                               hashes, fee_estimated, history, estimated_completion_at, created_at, updated_at, version)
     SELECT $3 || lpad(n::text, 8, '0'), $4, 'wal_' || lpad((${wallet})::text, 7, '0'), 'ethereum', 'mainnet', $2, 'TRANSFER', $5, $6,
            ${addressOf(`(${wallet})::integer`)}, '0x', 'eip155:1/slip44:60', 'ETH', 18, 1, 'medium', ${nonce}, ${block},
            CASE WHEN ${block} IS NULL THEN NULL ELSE '0x' END, '[]', 1, '[]', now(), now(), now() - interval '1 hour', 1
       FROM generate_series(1, $1::integer) AS n`,
    [count, TEST_CHAIN, prefix, tenant, state, statusOf(state)],
  )
}

/** The native balances of the first wallets; every 25 of them as of one block. */
export async function insertBalances(pool: Pool, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     SELECT 'wal_' || lpad(n::text, 7, '0'), $2, 'tenant_0', 5, n / 25, '0x', now() FROM generate_series(1, $1::integer) AS n`,
    [count, NATIVE.assetId],
  )
}

/**
 * An event and a hold for each of the first wallets. Hashes are not valid: for tests of queries, not of verification.
 */
export async function insertStreams(pool: Pool, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     SELECT 'balance-wal_' || lpad(n::text, 7, '0'), 1, 'BalanceChanged', 1, '{}', '{}', now(), '\\x00' FROM generate_series(1, $1::integer) AS n`,
    [count],
  )
  await pool.query(
    `INSERT INTO wallet_holds (wallet_id, asset_id, held)
     SELECT 'wal_' || lpad(n::text, 7, '0'), $2, 1 FROM generate_series(1, $1::integer) AS n`,
    [count, NATIVE.assetId],
  )
}

/** Confirmed transfers to wallets, one for each. */
export async function insertTransfers(pool: Pool, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO observed_transfers (transfer_id, tenant_id, wallet_id, chain_id, network, direction, status, hash, asset_id, asset_symbol,
                                     asset_decimals, amount, block_number, block_hash, block_timestamp, observed_at, place, version)
     SELECT 'obs_' || lpad(n::text, 7, '0'), 'tenant_0', 'wal_' || lpad(n::text, 7, '0'), $2, 'ethereum', 'in', 'confirmed', '0x', $3, 'ETH',
            18, 1, n / 25, '0x', now(), now(), lpad(n::text, 12, '0'), 2
       FROM generate_series(1, $1::integer) AS n`,
    [count, TEST_CHAIN, NATIVE.assetId],
  )
}

/** Keys `key_0000001` and so on of a tenant, the first of which made the others; every second one was revoked. */
export async function insertApiKeys(pool: Pool, { count, tenant }: { count: number; tenant: string }): Promise<void> {
  await pool.query(
    `INSERT INTO api_keys (key_id, tenant_id, environment, label, digest, scopes, grants, ip_allowlist, limits, status, revoked_at,
                           revoked_reason, issued_by, created_at, updated_at, version)
     SELECT 'key_' || lpad(n::text, 7, '0'), $2, 'mainnet', 'shop ' || n, $2 || n, '{wallets:read}', '{wallets:read}', '{}', '[]',
            CASE n % 2 WHEN 0 THEN 'revoked' ELSE 'active' END, CASE n % 2 WHEN 0 THEN now() END, CASE n % 2 WHEN 0 THEN 'requested' END,
            CASE WHEN n > 1 THEN 'key_0000001' END, now(), now(), 1
       FROM generate_series(1, $1::integer) AS n`,
    [count, tenant],
  )
}
