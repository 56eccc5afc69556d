/** The service parts of the recovery command, opened on demand: offline commands stay offline. */
import { withoutRotation } from '../key-rotation/require-stopped.ts'
import { childKey } from '../keys/hd-key.ts'
import { hdAccount } from '../keys/hd-path.ts'
import type { Kek } from '../keys/kek.ts'
import type { JointKey } from '../keys/mpc/ceremonies.ts'
import { openTenantSeeds, restoreSeeds, tenantsWithSeeds } from '../keys/tenant-seeds.ts'
import { directoryExists } from '../keys/usable-directory.ts'
import { type BackUp, backUp } from '../recovery/kit/back-up.ts'
import type { KitWallet } from '../recovery/kit/format.ts'
import { KitRefused } from '../recovery/kit/kit-refused.ts'
import { kitSigner } from '../recovery/kit/kit-signature.ts'
import { describeWallet, listWallets } from '../recovery/kit/list-wallets.ts'
import type { OfferedSeed, RestoredSeeds, RestoreSeeds, TenantSeedSource } from '../recovery/kit/sources.ts'
import type { SharedKeys } from '../wallets/key-kinds.ts'
import { KEY_KINDS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { KEYSTORE_DIR, openKeystore } from './open-keystore.ts'
import { withKernel } from './run-command.ts'

/** Of the wallets of a tenant, oldest first: the first one answers, unless its row was edited. */
const MOST_COMPARED = 100

export type RecoverySources = {
  readonly backUp: BackUp
  readonly currentWallets: () => Promise<readonly KitWallet[]>
  readonly restoreSeeds: RestoreSeeds
}

/** A value: commands that read only a kit are run without a service. */
export function composeRecovery(env: NodeJS.ProcessEnv): RecoverySources {
  return {
    backUp: (request) =>
      withKernel(env, async (kernel) => {
        const seeds = await seedsHere(kernel)
        const parties = (await Promise.all((await sharedKeys()).map(({ partiesHere }) => partiesHere(kernel)))).flat()
        const kek = seeds?.kek ?? parties[0]?.kek ?? null
        const sources = {
          wallets: (tenantId: string | null) => listWallets(kernel, tenantId),
          jointKeys: () => listJointKeys(kernel),
          seeds,
          parties,
          signer: kek === null ? null : kitSigner(kek),
        }
        return backUp(sources, kernel.log.now, request)
      }),
    currentWallets: () =>
      withKernel(env, async (kernel) => {
        const wallets = await listWallets(kernel, null)
        const keys = new Map((await listJointKeys(kernel)).map((key) => [key.keyId, key]))
        return wallets.map((wallet) => describeWallet(wallet, keys))
      }),
    // A rotation of the key beside it would leave the new seeds under the old key.
    restoreSeeds: (seeds, options) =>
      withKernel(env, (kernel) => withoutRotation(kernel.pool, () => restoreHere(kernel, seeds, options))),
  }
}

/** Without a kind of keys that parties share there are none. */
async function sharedKeys(): Promise<readonly SharedKeys[]> {
  return Promise.all(Object.values(KEY_KINDS).flatMap(({ shared }) => (shared === undefined ? [] : [shared()])))
}

async function listJointKeys(kernel: Kernel): Promise<readonly JointKey[]> {
  return (await Promise.all((await sharedKeys()).map(({ listKeys }) => listKeys(kernel)))).flat()
}

/**
 * @param own the keys whose signature proves a seed
 * @throws KitRefused for a seed that some wallet of its tenant does not come from, and for one that neither a wallet nor
 *   a signature proves: anybody who can write to a kit can seal a seed of his own for its recipient
 */
async function requireProved(
  kernel: Pick<Kernel, 'pool'>,
  seeds: ReadonlyMap<string, OfferedSeed>,
  own: readonly string[],
): Promise<void> {
  for (const [tenantId, { entropy, signedBy }] of seeds) {
    const wallets = (await listWallets(kernel, tenantId)).flatMap(({ key, address }) =>
      key.kind === 'hd' ? [{ ...key, address }] : [],
    )
    const account = hdAccount(entropy)
    const compared = wallets.slice(0, MOST_COMPARED)
    const foreign = compared.filter((wallet) => !derives(account, wallet))
    account.wipe()
    if (foreign.length > 0) {
      const which =
        foreign.length === compared.length
          ? 'none of its wallets here'
          : `not ${foreign[0]?.address}, a wallet of it here`
      throw new KitRefused(
        `The seed of tenant ${tenantId} in the kit created ${which}: use the kit of this installation, or --force. Nothing was restored.`,
      )
    }
    if (compared.length > 0 || (signedBy !== null && own.includes(signedBy))) continue
    throw new KitRefused(
      `Nothing proves the seed of tenant ${tenantId}: it has no wallet here, and the kit is not signed by a key that you named` +
        `${signedBy === null ? '' : ` (it is by ${signedBy})`}. Use --signed-by with the key that backup printed, or --force. Nothing was restored.`,
    )
  }
}

function derives(account: ReturnType<typeof hdAccount>, wallet: { readonly index: number; readonly address: string }) {
  const key = childKey(account, wallet.index)
  key.wipe()
  return key.address === wallet.address
}

/** A kit that was signed under the key-encryption key of this keystore needs no other proof. */
async function restoreHere(
  kernel: Kernel,
  seeds: ReadonlyMap<string, OfferedSeed>,
  { force, trusted }: Parameters<RestoreSeeds>[1],
): Promise<RestoredSeeds> {
  const exists = await keystoreExists(kernel)
  if (!force) {
    const own = exists ? [kitSigner((await openKeystore(kernel)).kek).key] : []
    await requireProved(kernel, seeds, [...trusted, ...own])
  }
  const entropies = new Map([...seeds].map(([tenantId, { entropy }]) => [tenantId, entropy]))
  const restored = await restoreSeeds(await openKeystore(kernel), entropies)
  for (const entropy of entropies.values()) entropy.fill(0)
  return { restored, unchanged: [...seeds.keys()].filter((tenantId) => !restored.includes(tenantId)) }
}

/** Whether there is a keystore, or at least its key: looking for one must not create it. */
async function keystoreExists({ config }: Kernel): Promise<boolean> {
  const { kind, directory, key } = config.keystore
  return kind === 'postgres' || key !== null || (await directoryExists(directory, KEYSTORE_DIR))
}

/** Opens an existing keystore only. */
async function seedsHere(kernel: Kernel): Promise<(TenantSeedSource & { readonly kek: Kek }) | null> {
  const { kind, directory } = kernel.config.keystore
  if (kind === 'directory' && !(await directoryExists(directory, KEYSTORE_DIR))) return null
  const opened = await openKeystore(kernel)
  return { ...(await openTenantSeeds(opened)), kek: opened.kek, tenants: () => tenantsWithSeeds(opened.keystore) }
}
