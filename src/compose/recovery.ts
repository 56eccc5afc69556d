/** The service parts of the recovery command, opened on demand: offline commands stay offline. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Row } from '../event-log/table-rows.ts'
import { childKey } from '../keys/hd-key.ts'
import { hdAccount } from '../keys/hd-path.ts'
import { parseKek } from '../keys/kek.ts'
import { openKekFile } from '../keys/kek-file.ts'
import type { JointKey } from '../keys/mpc/ceremonies.ts'
import { generationOf } from '../keys/mpc/loaded-shares.ts'
import { createReadShare } from '../keys/mpc/read-shares.ts'
import { isMissing } from '../keys/private-files.ts'
import { finishReplacing } from '../keys/replace-files.ts'
import { openTenantSeeds, restoreSeed, tenantsWithSeeds } from '../keys/tenant-seeds.ts'
import { createJointKeysOf } from '../mpc-wallets/joint-keys.ts'
import { MPC_KEYS } from '../mpc-wallets/sql.ts'
import { type BackUp, createBackUp } from '../recovery/kit/back-up.ts'
import type { KitWallet } from '../recovery/kit/format.ts'
import { KitRefused } from '../recovery/kit/kit-refused.ts'
import { createListWallets, describeWallet } from '../recovery/kit/list-wallets.ts'
import type { PartyShareSource, RestoredSeeds, RestoreSeeds, TenantSeedSource } from '../recovery/kit/sources.ts'
import type { Kernel } from './kernel.ts'
import { openKeystore } from './open-keystore.ts'
import { withKernel } from './run-command.ts'

/** Of the wallets of a tenant, oldest first: the first one answers, unless its row was edited. */
const MOST_COMPARED = 100

export type RecoverySources = {
  readonly backUp: BackUp
  readonly currentWallets: () => Promise<readonly KitWallet[]>
  readonly restoreSeeds: RestoreSeeds
}

export function composeRecovery(env: NodeJS.ProcessEnv): RecoverySources {
  return {
    backUp: (request) =>
      withKernel(env, async (kernel) => {
        const sources = {
          wallets: createListWallets(kernel.pool),
          jointKeys: () => listJointKeys(kernel),
          seeds: await seedsHere(kernel),
          parties: await partiesHere(kernel),
        }
        return createBackUp(sources, kernel.log.now)(request)
      }),
    currentWallets: () =>
      withKernel(env, async (kernel) => {
        const wallets = await createListWallets(kernel.pool)(null)
        const keys = new Map((await listJointKeys(kernel)).map((key) => [key.keyId, key]))
        return wallets.map((wallet) => describeWallet(wallet, keys))
      }),
    restoreSeeds: (seeds, { force }) =>
      withKernel(env, async (kernel) => {
        if (!force) await requireOurs(kernel, seeds)
        return restoreSeeds(kernel, seeds)
      }),
  }
}

async function listJointKeys({ pool, log }: Kernel): Promise<readonly JointKey[]> {
  const { rows } = await pool.query<Pick<Row<'mpc_keys'>, 'key_id'>>(
    `SELECT key_id FROM ${MPC_KEYS} AS mpc_keys ORDER BY key_id`,
  )
  return [...(await createJointKeysOf(log)(rows.map(({ key_id }) => key_id))).values()]
}

/** @throws KitRefused for a seed that created none of the wallets of its tenant, such as that of another installation */
async function requireOurs({ pool }: Kernel, seeds: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const list = createListWallets(pool)
  for (const [tenantId, entropy] of seeds) {
    const wallets = (await list(tenantId)).flatMap(({ key, address }) => (key.kind === 'hd' ? { ...key, address } : []))
    const account = hdAccount(entropy)
    const isOurs = wallets.length === 0 || wallets.slice(0, MOST_COMPARED).some((wallet) => derives(account, wallet))
    account.wipe()
    if (isOurs) continue
    throw new KitRefused(
      `The seed of tenant ${tenantId} in the kit created none of its wallets here: use the kit of this installation, or --force.`,
    )
  }
}

function derives(account: ReturnType<typeof hdAccount>, wallet: { readonly index: number; readonly address: string }) {
  const key = childKey(account, wallet.index)
  key.wipe()
  return key.address === wallet.address
}

async function restoreSeeds(kernel: Kernel, seeds: ReadonlyMap<string, Uint8Array>): Promise<RestoredSeeds> {
  const opened = await openKeystore(kernel)
  const restored: string[] = []
  const unchanged: string[] = []
  for (const [tenantId, entropy] of seeds) {
    const isBack = await restoreSeed(opened, tenantId, entropy)
    entropy.fill(0)
    if (isBack) restored.push(tenantId)
    else unchanged.push(tenantId)
  }
  return { restored, unchanged }
}

/** Opens an existing keystore only: looking for one must not create it. */
async function seedsHere(kernel: Kernel): Promise<TenantSeedSource | null> {
  const { kind, directory } = kernel.config.keystore
  if (kind === 'directory' && !(await exists(directory))) return null
  const opened = await openKeystore(kernel)
  return { ...(await openTenantSeeds(opened)), tenants: () => tenantsWithSeeds(opened.keystore) }
}

/** The party of the settings; without one, every party whose directory is here, as in the sandbox. */
async function partiesHere({ config }: Kernel): Promise<PartyShareSource[]> {
  const { mpc, dataDir } = config
  if (mpc === null) return []
  const numbers = Array.from({ length: mpc.parties }, (_, index) => index + 1)
  const places =
    mpc.party === null
      ? numbers.map((number) => ({ number, directory: join(dataDir, 'mpc', `party-${number}`), key: null }))
      : [mpc.party]
  const here: PartyShareSource[] = []
  for (const { number, directory, key } of places) {
    if (!(await exists(directory))) continue
    await finishReplacing(directory)
    const kek = key === null ? await openKekFile(directory) : parseKek(key, 'MPC_PARTY_KEY')
    const read = createReadShare({ directory, party: number, kek })
    here.push({ party: number, load: (joint) => read(joint.keyId, generationOf(joint)) })
  }
  return here
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
