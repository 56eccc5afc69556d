/** The coordinator's side of mpc: its identity, its channel to the parties, and its requests to them. */
import type { Context } from '../context.ts'
import type { Ceremonies } from '../keys/mpc/ceremonies.ts'
import { openChannel } from '../keys/mpc/channel/open-channel.ts'
import { createCoordinator } from '../keys/mpc/coordinator.ts'
import { createMpcSigner } from '../keys/mpc/mpc-signer.ts'
import { partyName } from '../keys/mpc/party-names.ts'
import { createRunCeremonies } from '../keys/mpc/run-ceremonies.ts'
import { type Accused, createSignJointly } from '../keys/mpc/sign-jointly.ts'
import type { Signer } from '../keys/signer.ts'
import { openCoordinatorIdentity } from './identities.ts'
import { createJointKeysOf } from './joint-keys.ts'
import { prepareTrust } from './prepare-trust.ts'
import { recordAccusation } from './record-accusation.ts'
import { refreshWorn } from './refresh-worn.ts'

/** A key generation computes for several seconds, longer on a busy machine. */
const CEREMONY_MS = 5 * 60_000
/** A signature has three rounds; one more allows for the time before and after. */
const ROUNDS = 4

export type MpcCoordinator = {
  readonly signer: Signer
  readonly ceremonies: Ceremonies
  /** Called for a key whose new shares are in the log: the parties can delete the old ones. */
  readonly settle: (keyId: string) => void
  readonly close: () => Promise<void>
}

/** @returns null when no parties are configured */
export async function openCoordinator(
  kernel: Context,
  keys: Parameters<typeof openCoordinatorIdentity>[0],
): Promise<MpcCoordinator | null> {
  const { config, log, logger, clock, metrics } = kernel
  if (config.mpc === null || config.mpc.addresses === null) return null
  const { addresses, trustDir, roundTimeoutMs } = config.mpc
  const identity = await openCoordinatorIdentity(keys)
  await prepareTrust(kernel, { trustDir, identity, peers: [...addresses.keys()].map(partyName) })
  const channel = await openChannel({
    identity,
    trustDir,
    listen: null,
    dials: new Map([...addresses].map(([party, address]) => [partyName(party), address])),
    accepts: () => false,
    log: logger,
  })
  const coordinator = createCoordinator({ channel })
  const jointKeysOf = createJointKeysOf(log)
  const onAccused = recordAccused(kernel)
  const signJointly = createSignJointly({
    coordinator,
    jointKeysOf,
    onAccused,
    onWorn: (keyId) => refreshWorn(kernel, keyId),
    timeoutMs: ROUNDS * roundTimeoutMs,
    now: clock,
    onRefused: ({ keyId, intent }, party, { kind, reason }) => {
      metrics.count('bursar_mpc_refusals_total', { party: String(party), kind })
      logger.warn({ key_id: keyId, intent, party, kind, reason }, 'a party did not sign')
    },
  })
  return {
    signer: createMpcSigner(signJointly),
    ceremonies: createRunCeremonies({ coordinator, onAccused, timeoutMs: CEREMONY_MS }),
    settle: coordinator.settle,
    close: channel.close,
  }
}

/** The accusation is in the log before the failed items are tried again. */
function recordAccused(kernel: Context): (accused: Accused) => Promise<void> {
  return async ({ epoch, ...accused }) => {
    // Cheating during key generation only spoils a key that will not be used.
    if (epoch !== null) await recordAccusation(kernel, { ...accused, epoch })
    else
      kernel.logger.error(
        accused,
        'an mpc party failed a check of another party during key generation: check both parties',
      )
  }
}
