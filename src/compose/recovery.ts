/** What the recovery command needs of the service, opened when it is asked for: offline commands stay offline. */
import { stat } from 'node:fs/promises'
import { isMissing } from '../keys/private-files.ts'
import { openTenantSeeds, tenantsWithSeeds } from '../keys/tenant-seeds.ts'
import { type BackUp, createBackUp } from '../recovery/kit/back-up.ts'
import type { KitWallet } from '../recovery/kit/format.ts'
import { createListWallets, describeWallet } from '../recovery/kit/list-wallets.ts'
import type { JointKey, KitSources, TenantSeedSource } from '../recovery/kit/sources.ts'
import type { Kernel } from './kernel.ts'
import { openKeystore } from './open-keystore.ts'
import { withKernel } from './run-command.ts'

export type RecoverySources = { readonly backUp: BackUp; readonly currentWallets: () => Promise<readonly KitWallet[]> }

export function composeRecovery(env: NodeJS.ProcessEnv): RecoverySources {
  return {
    backUp: (request) =>
      withKernel(env, async (kernel) => createBackUp(await kitSources(kernel), kernel.log.now)(request)),
    currentWallets: () =>
      withKernel(env, async (kernel) => {
        const keys = new Map((await jointKeys()).map((key) => [key.keyId, key]))
        return (await createListWallets(kernel.pool)(null)).map((wallet) => describeWallet(wallet, keys))
      }),
  }
}

async function kitSources(kernel: Kernel): Promise<KitSources> {
  return {
    wallets: createListWallets(kernel.pool),
    jointKeys,
    seeds: await seedsHere(kernel),
    parties: [],
  }
}

async function jointKeys(): Promise<readonly JointKey[]> {
  return []
}

/** A keystore is opened where it is: looking for one must not make one. */
async function seedsHere(kernel: Kernel): Promise<TenantSeedSource | null> {
  const { kind, directory } = kernel.config.keystore
  if (kind === 'directory' && !(await exists(directory))) return null
  const opened = await openKeystore(kernel)
  return { ...(await openTenantSeeds(opened)), tenants: () => tenantsWithSeeds(opened.keystore) }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false
      throw error
    },
  )
}
