/**
 * The wallets that a kit must restore: all whose keys Bursar holds, including archived ones, since keys are never
 * destroyed.
 */
import type { Context } from '../../context.ts'
import { hdPath } from '../../keys/hd-path.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import { WALLETS } from '../../wallets/sql.ts'
import type { KitWallet } from './format.ts'
import { KitRefused } from './kit-refused.ts'
import type { SourceWallet } from './sources.ts'

/** @param tenantId one tenant; `null` for all */
export async function listWallets(
  { pool }: Pick<Context, 'pool'>,
  tenantId: string | null,
): Promise<readonly SourceWallet[]> {
  const { rows } = await pool.query<SourceWallet>(
    `SELECT wallet_id AS "walletId", tenant_id AS "tenantId", network, environment, chain_id AS "chainId", address, label,
            status, key_ref AS key
       FROM ${WALLETS} AS wallets
      WHERE address IS NOT NULL AND key_ref IS NOT NULL AND ($1::text IS NULL OR tenant_id = $1)
      ORDER BY wallet_id`,
    [tenantId],
  )
  return rows
}

/** The manifest entry of a wallet. @throws KitRefused for an mpc wallet whose key is not in the log */
export function describeWallet(wallet: SourceWallet, jointKeys: ReadonlyMap<string, JointKey>): KitWallet {
  const { key, network, environment, address, label, status } = wallet
  const place = {
    wallet_id: wallet.walletId,
    tenant: wallet.tenantId,
    address,
    network,
    environment,
    chain_id: wallet.chainId,
    label,
    status,
  }
  if (key.kind === 'hd') return { ...place, type: 'hd', derivation_path: hdPath(key.index), index: key.index }
  const joint = jointKeys.get(key.keyId)
  if (joint === undefined) throw new KitRefused(`The mpc key ${key.keyId} of ${wallet.walletId} is not in the log.`)
  const { keyId, threshold, parties, epoch } = joint
  return { ...place, type: 'mpc', key_id: keyId, threshold, parties: parties.length, epoch }
}
