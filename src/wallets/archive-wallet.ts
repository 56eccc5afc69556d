/**
 * Archives a wallet. Its key is never destroyed, its transactions stay readable, and deposits to it still show.
 *
 * Invariant: no transfer is accepted while the wallet is being archived. Every transfer holds native currency for gas;
 * the zero hold here waits for such an append, or makes it wait and find an archived wallet.
 */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { type Asset, nativeAsset } from '../core/assets.ts'
import type { Metadata } from '../core/messages.ts'
import { formatDigits } from '../core/money.ts'
import { decideOn } from '../event-log/aggregate.ts'
import { WalletGuardRefused } from '../event-log/append.ts'
import type { Row } from '../event-log/table-rows.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { walletAggregate } from './aggregate.ts'
import { pendingTransactions, type Remainder } from './decider.ts'
import type { WalletFacts } from './wallet-facts.ts'

export type PositiveBalance = Pick<Row<'balances'>, 'asset_id' | 'balance'>

/** What archiving needs of its process. */
export type ArchiveWalletContext = Pick<Context, 'log' | 'pool'> & {
  /** Its recorded balances above zero, in base units. */
  readonly positiveBalances: (walletId: string) => Promise<readonly PositiveBalance[]>
  /** The symbol and decimals of a wallet's asset. `null` when nothing is known about it. */
  readonly describeAsset: (wallet: WalletFacts, assetId: string) => Promise<Asset | null>
}

/**
 * Archiving twice changes nothing.
 *
 * @param options.force archive although assets remain in the account
 * @throws Conflict `wallet_has_pending_transactions`, `wallet_has_balance` with the balances, or `wallet_not_ready`
 */
export async function archiveWallet(
  ctx: ArchiveWalletContext,
  wallet: WalletFacts,
  { force, metadata }: { readonly force: boolean; readonly metadata: Metadata },
): Promise<void> {
  const { log, pool } = ctx
  const { walletId, network, chainId } = wallet
  try {
    await log.commit(
      async () => {
        const [loaded, pending, remainders] = await Promise.all([
          log.load(walletAggregate, walletId),
          countPending(pool, walletId),
          remaindersOf(ctx, wallet),
        ])
        const now = log.now()
        const command = { type: 'Archive', pending, remainders, force, now } as const
        return [decideOn(walletAggregate, loaded, command, { metadata, now })]
      },
      {
        wallet: { walletId, require: 'idle' },
        holds: [{ walletId, assetId: nativeAsset(network, chainId).assetId, delta: 0n, mustFit: false }],
      },
    )
  } catch (error) {
    throw error instanceof WalletGuardRefused ? pendingTransactions(null) : error
  }
}

async function countPending(pool: Pool, walletId: string): Promise<number> {
  const { rows } = await pool.query<{ pending: number }>({
    name: 'pending_of_wallet',
    text: `SELECT count(*)::integer AS pending FROM ${TRANSACTIONS} AS transactions WHERE wallet_id = $1 AND status = 'pending'`,
    values: [walletId],
  })
  return rows[0]?.pending ?? 0
}

async function remaindersOf(
  { positiveBalances, describeAsset }: ArchiveWalletContext,
  wallet: WalletFacts,
): Promise<Remainder[]> {
  const balances = await positiveBalances(wallet.walletId)
  return Promise.all(
    balances.map(async ({ asset_id, balance }) => {
      // For an unknown asset, base units with its id are still correct.
      const { symbol: currency, decimals } = (await describeAsset(wallet, asset_id)) ?? {
        symbol: asset_id,
        decimals: 0,
      }
      return { asset_id, currency, balance: formatDigits(balance, decimals) }
    }),
  )
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly archives: ArchiveWalletContext
  }
}
