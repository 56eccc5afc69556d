/**
 * The wallets that the faucet pays from: ordinary hd wallets of a dedicated tenant. Faucet payments go through the log
 * like every transfer, so after a local chain lost its last blocks they are sent again.
 */
import type { Pool } from 'pg'
import type { Context } from '../../context.ts'
import { NotFound } from '../../core/errors.ts'
import type { Network } from '../../core/networks.ts'
import { SANDBOX_TENANT } from '../../core/tenants.ts'
import { createAccept } from '../../event-log/accept.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { requestWallet } from '../../wallets/request-wallet.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { createWaitForWallet } from '../../wallets/wait-for-wallet.ts'

export const FAUCET_TENANT = SANDBOX_TENANT
const ADDRESS_WAIT_MS = 30_000

function externalIdOf(network: Network): string {
  return `faucet-${network}`
}

/** @throws NotFound before the sandbox has created it */
export async function findFaucetWallet(pool: Pool, network: Network): Promise<{ walletId: string; address: string }> {
  const { rows } = await pool.query<Pick<Row<'wallets', { readonly address: string }>, 'wallet_id' | 'address'>>({
    name: 'faucet_wallet',
    text: `SELECT wallet_id, address FROM ${WALLETS} AS wallets WHERE tenant_id = $1 AND external_id = $2 AND address IS NOT NULL`,
    values: [FAUCET_TENANT, externalIdOf(network)],
  })
  const [row] = rows
  if (row === undefined)
    throw new NotFound('faucet', 'faucet_not_ready', `The faucet of ${network} is not ready yet: try again.`)
  return { walletId: row.wallet_id, address: row.address }
}

/** The address of the faucet's wallet, which is created on the first start. */
export async function ensureFaucetWallet(
  { log, pool, newId, wakeUps }: Pick<Context, 'log' | 'pool' | 'newId' | 'wakeUps'>,
  { network, chainId }: { readonly network: Network; readonly chainId: number },
): Promise<string> {
  try {
    return (await findFaucetWallet(pool, network)).address
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
  }
  const ctx = { log, pool, newId, accept: createAccept({ log, pool, newId }), config: { mpc: null } }
  const externalId = externalIdOf(network)
  const { id } = await requestWallet(
    ctx,
    { type: 'hd', network, environment: 'mainnet', chainId, label: 'faucet', externalId, mpc: null },
    { metadata: { tenantId: FAUCET_TENANT, actor: 'operator' } },
  )
  await createWaitForWallet({ pool, wakeUps })(id, ADDRESS_WAIT_MS)
  return (await findFaucetWallet(pool, network)).address
}
