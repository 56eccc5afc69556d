/** The key of an hd wallet, for a test that acts as another program with the same key. */
import { Wallet } from 'ethers'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { hdKey } from '../../src/keys/hd-key.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import type { LoadWallet } from './load.ts'
import type { LocalService } from './service-local.ts'
import { RECIPIENT, type Stage } from './service-stage.ts'

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

/** Another program pays with the key of a wallet. @returns the hash */
export async function payAsStranger(
  { service, rpc }: Pick<Stage, 'service' | 'rpc'>,
  wallet: LoadWallet,
  nonce = 0,
  value = 7n,
): Promise<string> {
  const fees = { maxFeePerGas: 50n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n }
  const call = { type: 2, chainId: 1_000_001, to: RECIPIENT, value, nonce, gasLimit: 21_000n, ...fees }
  const key = await keyOf(service, wallet.id)
  return String(await rpc('eth_sendRawTransaction', await key.signTransaction(call)))
}
