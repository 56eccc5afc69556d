/** The service with parties, and a chain that mines when the test requests it. */
import type { Test } from 'tap'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { type Channel, openChannel } from '../../src/keys/mpc/channel/open-channel.ts'
import { type Coordinator, createCoordinator } from '../../src/keys/mpc/coordinator.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { COORDINATOR, partyName } from '../../src/keys/mpc/party-names.ts'
import { keptLog } from './kept-log.ts'
import type { LoadWallet } from './load.ts'
import { adoptKey, type Parties, planParties, withParties } from './mpc-parties.ts'
import { eventually } from './sandbox-eventually.ts'
import { type Stage, type StageOptions, withStage } from './service-stage.ts'

/** A wallet with its key from the log. */
export type MpcWallet = LoadWallet & { readonly keyId: string }

export type MpcStage = Stage & {
  readonly parties: Parties
  /** Wallets whose keys are in the log; the first has the first shares. Their parties hold those shares. */
  readonly wallets: readonly MpcWallet[]
  /** Every event of a key, oldest first. */
  readonly keyEvents: (
    keyId: string,
  ) => Promise<readonly { readonly type: string; readonly data: Record<string, unknown> }[]>
  /** Waits until the signer is connected to a party. */
  readonly connected: (...numbers: readonly number[]) => Promise<void>
}

export type MpcStageOptions = {
  /** Recorded keys, one per wallet; party 1 first. */
  readonly keys: readonly (readonly Uint8Array[])[]
  readonly parties?: number
  /** Directories of parties whose shares are at a place that the test chose. */
  readonly directories?: ReadonlyMap<number, string>
} & Pick<StageOptions, 'env' | 'chain' | 'databaseUrl'>

/** All parties run when it returns. */
export async function withMpcStage(
  t: Test,
  { keys, parties: count = 3, directories, env = {}, ...own }: MpcStageOptions,
): Promise<MpcStage> {
  const plan = await planParties(t, count, directories)
  const stage = await withStage(t, { env: { ...plan.env, ...env }, ...own })
  const { kernel, pool, makeWallets } = stage.service
  const parties = withParties(t, { ...kernel.config, databaseUrl: stage.service.urlAs('party') }, plan.places)
  const keyIds: string[] = []
  for (const shares of keys) keyIds.push(await adoptKey(kernel.log, plan.places, shares))
  for (const { number } of plan.places) await parties.start(number)
  const wallets: MpcWallet[] = []
  for (const [index, shares] of keys.entries()) {
    const terms = { threshold: 2, parties: shares.length }
    const [wallet] = await makeWallets(1, { type: 'mpc', mpc: terms })
    if (wallet === undefined) throw new Error('no wallet was made')
    wallets.push({ ...wallet, keyId: keyIds[index] as string })
  }
  return {
    ...stage,
    parties,
    wallets,
    async keyEvents(keyId) {
      const { rows } = await pool.query<{ type: string; data: Record<string, unknown> }>(
        'SELECT type, data FROM events WHERE stream_id = $1 ORDER BY stream_version',
        [`mpckey-${keyId}`],
      )
      return rows
    },
    connected: async (...numbers) => {
      const said = (number: number) =>
        stage.service.lines.findLast(({ peer }) => peer === partyName(number))?.msg === 'peer connected'
      await eventually(() => numbers.every(said))
    },
  }
}

export type Puppeteer = Coordinator & { readonly channel: Channel }

/**
 * A coordinator controlled by the test, with the real identity: what an attacker can do who took over the signer
 * process.
 */
export async function withPuppeteer(t: Test, { service }: Stage): Promise<Puppeteer> {
  const { config } = service.kernel
  if (config.mpc === null || config.mpc.addresses === null) throw new Error('the service has no parties')
  const { addresses, trustDir } = config.mpc
  const channel = await openChannel({
    identity: await openIdentity({ name: COORDINATOR, ...(await openKeystore(service.kernel)) }),
    trustDir,
    listen: null,
    dials: new Map([...addresses].map(([party, address]) => [partyName(party), address])),
    accepts: () => false,
    log: keptLog().logger,
  })
  t.after(() => channel.close())
  await eventually(() => channel.connected().length === addresses.size)
  return { ...createCoordinator({ channel }), channel }
}
