/** The key of an hd wallet, for a test that acts as another program with the same key. */
import { Wallet } from 'ethers'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { hdKey } from '../../src/keys/hd-key.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import type { LocalService } from './service-local.ts'

export async function keyOf({ kernel, pool }: LocalService, walletId: string): Promise<Wallet> {
  const { rows } = await pool.query<{ key_ref: { tenantId: string; index: number } }>(
    'SELECT key_ref FROM wallets WHERE wallet_id = $1',
    [walletId],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`there is no wallet ${walletId}`)
  const seeds = await openTenantSeeds(await openKeystore(kernel))
  const key = hdKey(await seeds.load(row.key_ref.tenantId), row.key_ref.index)
  return new Wallet(`0x${Buffer.from(key.reveal()).toString('hex')}`)
}
