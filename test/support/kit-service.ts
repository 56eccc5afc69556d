/** A service with hd wallets and its own keystore, and the commands that make, check and use its kit. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import type { CliRun } from './cli.ts'
import { makeIdentity, OFFLINE, recoveryOf, runRecovery, scratch } from './recovery.ts'
import { ACME, hdMaker, makeWallet, withWallets } from './wallet-parts.ts'

export const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const GWEI = 10n ** 9n
const FEES = ['--max-fee-per-gas', `${3n * GWEI}`, '--max-priority-fee-per-gas', `${GWEI}`]

export async function withService(t: Test) {
  const parts = await withWallets(t)
  const directory = await scratch(t)
  const env = { DATABASE_URL: parts.url, DATA_DIR: join(directory, 'data') }
  const seeds = await openTenantSeeds(await openKeystore({ config: loadConfig(env), pool: parts.pool }))
  const restored = { times: 0 }
  const makeHdWallet = hdMaker({
    ...parts,
    signer: createHdSigner({ seeds }),
    restores: async () => restored.times,
    draw: () => 0.5,
  })
  const identity = await makeIdentity(directory, 'identity.txt')
  const kit = join(directory, 'kit')
  const sources = recoveryOf(env)
  const wallet = async (tenantId = 'acme') => {
    const id = await makeWallet({ ...parts, makeHdWallet }, {}, { ...ACME, tenantId })
    const { rows } = await parts.pool.query<{ address: string }>('SELECT address FROM wallets WHERE wallet_id = $1', [
      id,
    ])
    return { id, address: rows[0]?.address ?? '' }
  }
  return {
    ...parts,
    ...identity,
    directory,
    env,
    seeds,
    kit,
    /** Evidence of restores, as the signers count it. */
    restored,
    wallet,
    backUp: (...more: string[]) =>
      runRecovery(sources, ['backup', '--out', kit, '--recipient', identity.recipient, ...more]),
    verify: (...more: string[]) =>
      runRecovery(more.includes('--against-database') ? sources : OFFLINE, [
        ...['verify', '--kit', kit, '--identity', identity.file],
        ...more,
      ]),
  }
}

export type Service = Awaited<ReturnType<typeof withService>>

export function sweep({ kit, file }: Service, wallet: string, chainId: number, ...more: string[]): Promise<CliRun> {
  const where = ['--kit', kit, '--identity', file, '--wallet', wallet, '--to', RECIPIENT, '--chain-id', `${chainId}`]
  return runRecovery(OFFLINE, ['sweep', ...where, '--nonce', '0', '--gas-limit', '21000', ...FEES, ...more])
}
