/** Contract calls, opened as the routes open them, on a fresh database. */

import type { Test } from 'tap'
import type { Environ } from '../../src/config.ts'
import type { Context } from '../../src/context.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import type { Network } from '../../src/core/networks.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { createLaneReads } from '../../src/transactions/lanes.ts'
import { type CallRequest, prepareCall } from '../../src/transactions/prepare-call.ts'
import { withAddress } from '../../src/wallets/find-wallet.ts'
import type { Fakes } from './capabilities.ts'
import { osakaRules } from './gas.ts'
import { TEST_CHAIN } from './log.ts'
import { ACME, makeWallet, type WalletParts, withWallets } from './wallet-parts.ts'

/** The owner of every wallet here. */
const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
export const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const GWEI = 10n ** 9n
/** The same known fees at every level of the quote, so that the holds are known. */
export const LEVEL = { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: GWEI }
export const QUOTE = { baseFeePerGas: 7n * GWEI, low: LEVEL, medium: LEVEL, high: LEVEL }
export const NOW = '2026-01-01T00:00:00.000Z'

/** What no node is asked: the fees of a chain, and its rules. */
const FIXED: Fakes = { quoteOf: async () => QUOTE, gasRules: osakaRules }

/** @param fakes in place of fixed fees and rules, which they include */
export async function withCalls(t: Test, fakes: Fakes = FIXED, env: Environ = {}) {
  const parts = await withWallets(t, fakes, env)
  const { pool, log, findWallet } = parts
  const prepare = (walletId: string, request: Partial<CallRequest> = {}) =>
    prepareCall(
      parts,
      {
        owner: OWNER,
        walletId,
        kind: 'MintRequested',
        to: CONTRACT,
        data: '0x40c10f19',
        gasLimit: 100_000n,
        subject: { type: 'mint', id: 'mint_1' },
        ...request,
      },
      ACME,
    )
  /** Opens a call in its own commit. Returns its id. */
  const call = async (walletId: string, request: Partial<CallRequest> = {}): Promise<string> => {
    const { transactionId, decision, guards } = await prepare(walletId, request)
    await log.append({ decisions: [decision], guards })
    return transactionId
  }
  const wallet = async (balance = 10n ** 24n) => {
    const { walletId, address } = withAddress(await findWallet(OWNER, await makeWallet(parts)))
    await fund(parts, walletId, 'ethereum', balance)
    return { walletId, address, lane: { chainId: TEST_CHAIN, address } }
  }
  return { ...parts, prepare, call, wallet, lanes: createLaneReads(pool) }
}

export type Calls = Awaited<ReturnType<typeof withCalls>>

/** Sets a wallet's balance of the native currency. */
export async function fund(
  { pool, chains }: Pick<Context, 'pool' | 'chains'>,
  walletId: string,
  network: Network,
  balance: bigint,
): Promise<void> {
  const { chainId } = chains.get({ network, environment: OWNER.environment }).settings
  await pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     VALUES ($1, $2, 'acme', $3, 1, '0x', now()) ON CONFLICT DO NOTHING`,
    [walletId, nativeAsset(network, chainId).assetId, balance.toString()],
  )
}

/** Records a transaction as mined, like signer and follower do. */
export async function mine(
  { log }: Pick<WalletParts, 'log'>,
  id: string,
  nonce: number,
  succeeded = true,
): Promise<void> {
  const hash = `0x${id}`
  const fees = { gasLimit: 100_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce, hash, rawTransaction: '0x02', fees, signedAt: NOW }
  const block = { blockNumber: 7, blockHash: '0xb7', blockTimestamp: NOW, minedAt: NOW }
  const inclusion = { hash, ...block, succeeded, logs: null, gasUsed: 21_000n, effectiveGasPrice: 2n }
  await log.execute(transactionAggregate, id, { type: 'RecordSignature', signed }, { metadata: ACME })
  await log.execute(transactionAggregate, id, { type: 'RecordInclusion', inclusion }, { metadata: ACME })
}

/** Records enough confirmations. */
export const settle = ({ log }: Pick<WalletParts, 'log'>, id: string) =>
  log.execute(
    transactionAggregate,
    id,
    { type: 'Settle', confirmations: 2, revertReason: 'why', now: NOW },
    { metadata: ACME },
  )

export async function rowOf({ pool }: Pick<WalletParts, 'pool'>, id: string): Promise<Record<string, unknown>> {
  return (await pool.query('SELECT * FROM transactions WHERE transaction_id = $1', [id])).rows[0]
}
