/** Funds wallets of the service on local chains from the faucet, like any other wallet. */

import type { RouteContext } from '../../api-context.ts'
import { BALANCES } from '../../balances/sql.ts'
import { nativeAsset } from '../../core/assets.ts'
import { NO_CALLER_FIELDS } from '../../core/caller-fields.ts'
import { NotFound, Unavailable } from '../../core/errors.ts'
import { createWaitUntil } from '../../event-log/wait-until.ts'
import { requestTransfer } from '../../transactions/request-transfer.ts'
import type { SendContext } from '../../transactions/send-context.ts'
import { FAUCET_TENANT, findFaucetWallet } from './faucet-wallet.ts'

const AMOUNT = '1000'
/** Funded again when less than one whole unit is left. */
const ENOUGH_WEI = 10n ** 18n
const WAIT_MS = 15_000

/**
 * Resolves once the wallet's observed balance includes the payment. @throws Unavailable `faucet_slow`,
 * `faucet_not_ready`
 */
export function createFundWallet(ctx: SendContext): NonNullable<RouteContext['fundWallet']> {
  const { pool, wakeUps, chains } = ctx
  const untilFunded = createWaitUntil({ wakeUps, find: (ids) => findFunded(ids) })

  async function findFunded(accounts: readonly string[]): Promise<Map<string, true>> {
    const { rows } = await pool.query<{ account: string }>({
      name: 'funded_accounts',
      text: `SELECT concat_ws(' ', wallet_id, asset_id) AS account FROM ${BALANCES} AS balances
              WHERE concat_ws(' ', wallet_id, asset_id) = ANY ($1) AND wallet_id = ANY ($2) AND balance >= $3`,
      values: [accounts, accounts.map((account) => account.split(' ')[0]), ENOUGH_WEI.toString()],
    })
    return new Map(rows.map(({ account }) => [account, true]))
  }

  return async ({ walletId, address, network }) => {
    const { chainId } = chains.get({ network, environment: 'mainnet' }).settings
    const { assetId, symbol } = nativeAsset(network, chainId)
    const account = `${walletId} ${assetId}`
    if ((await findFunded([account])).size > 0) return
    const faucet = await findFaucetWallet(pool, network).catch((error) => {
      throw error instanceof NotFound ? new Unavailable(error.code, error.message) : error
    })
    const gift = {
      walletId: faucet.walletId,
      to: address,
      amount: AMOUNT,
      asset: symbol,
      gasPriority: 'medium',
      ...NO_CALLER_FIELDS,
    } as const
    await requestTransfer(ctx, gift, { tenantId: FAUCET_TENANT, actor: 'worker:api' }, 'mainnet')
    if ((await untilFunded(account, WAIT_MS)) !== null) return
    throw new Unavailable('faucet_slow', `The faucet did not pay ${address} in time: try again.`)
  }
}
