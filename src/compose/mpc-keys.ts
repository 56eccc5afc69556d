/** The signer's tasks for joint keys: creating them, maintaining the pool, refreshing shares, recording bans. */
import { setTimeout as delay } from 'node:timers/promises'
import { lead } from '../event-log/lead.ts'
import type { Ceremonies } from '../keys/mpc/ceremonies.ts'
import { createGenerateKey } from '../mpc-wallets/generate-key.ts'
import { keepPool } from '../mpc-wallets/keep-pool.ts'
import { createMakeMpcWallet, type MakeMpcWallet } from '../mpc-wallets/make-mpc-wallet.ts'
import { createRecordAccusation, type RecordAccusation } from '../mpc-wallets/record-accusation.ts'
import { createRefreshShares } from '../mpc-wallets/refresh-shares.ts'
import { createRefreshWorn } from '../mpc-wallets/refresh-worn.ts'
import type { Kernel } from './kernel.ts'
import type { Work } from './run-process.ts'

/** Every party takes part in each. One more than a tenant may have at once (`QUEUE_LIMITS`). */
const REFRESHES_AT_ONCE = 3

export type JointKeyPorts = {
  readonly ceremonies: Ceremonies
  /** Called for a key whose new shares are in the log: the parties can delete the old ones. */
  readonly settle: (keyId: string) => void
}

export type MpcKeys = Work & { readonly makeMpcWallet: MakeMpcWallet }

/** @param signal aborts when the process is stopping */
export function startMpcKeys(kernel: Kernel, { ceremonies, settle }: JointKeyPorts, signal: AbortSignal): MpcKeys {
  const { config, log, pool, newId, clock, jobs, logger } = kernel
  const generateKey = createGenerateKey({ log, ceremonies })
  const refreshShares = createRefreshShares({
    log,
    ceremonies,
    newId,
    clock,
    onGivenUp: (keyId, { refreshId, reason, party }, error) =>
      logger.error(
        { err: error, key_id: keyId, refresh_id: refreshId, reason, party },
        'refresh of key shares failed; the old shares stay in use',
      ),
  })
  async function refreshAndSettle(keyId: string): Promise<void> {
    await refreshShares(keyId)
    settle(keyId)
  }
  const worker = jobs.process('shares', ({ key_id }) => refreshAndSettle(key_id ?? ''), {
    concurrency: REFRESHES_AT_ONCE,
  })
  const keeping = keepKeysAhead(kernel, generateKey, signal)
  return {
    makeMpcWallet: createMakeMpcWallet({ log, pool, newId, generateKey }),
    // An unfinished key for the pool is no loss: the shutdown does not wait for slow parties.
    drain: async () =>
      void (await Promise.race([
        Promise.all([worker.close(), keeping]),
        delay(config.shutdownGraceMs, undefined, { ref: false }),
      ])),
  }
}

/** Returns immediately when the pool is turned off. */
async function keepKeysAhead(
  { config, leases, pool, newId, logger }: Kernel,
  generateKey: ReturnType<typeof createGenerateKey>,
  signal: AbortSignal,
): Promise<void> {
  if (config.mpc === null || config.mpc.poolSize === 0) return
  const { poolSize: size, threshold, parties } = config.mpc
  const terms = { threshold, parties }
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot create a key for the key pool; will retry')
  await lead({ leases, name: 'mpc-pool', leaseMs: config.leaseMs, signal, onError }, (_lease, stop) =>
    keepPool({ pool, newId, generateKey, terms, size, onError }, stop),
  )
}

/** Handles a party's accusation of another: the record, an error in the logs, and a count. */
export function composeRecordAccusation({ log, logger, metrics }: Kernel): RecordAccusation {
  return createRecordAccusation({
    log,
    onRecorded({ keyId, epoch, party, accusedBy, reason }, what) {
      const fields = { key_id: keyId, epoch, party, accused_by: accusedBy, reason }
      if (what === 'accused') {
        metrics.mpc.countAccusation({ party, accusedBy })
        logger.error(
          fields,
          'an mpc party reported that another party failed a check; these two no longer sign together with this key: check both, then refresh the shares',
        )
        return
      }
      metrics.mpc.countBan({ party })
      logger.error(
        fields,
        'an mpc party failed a check and is banned from signing with this key: check the party, then refresh the shares',
      )
    },
  })
}

/** Handles a party's report that the shares of a key are worn. */
export function composeRefreshWorn({ log, newId, logger }: Kernel): (keyId: string) => Promise<void> {
  return createRefreshWorn({
    log,
    newId,
    onRequested: (keyId) =>
      logger.info({ key_id: keyId }, 'the shares of a key made many signatures; requested a refresh'),
  })
}
