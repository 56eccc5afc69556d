/** Joint keys in a signer: creating them, signing with them, maintaining the pool, refreshing shares. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { lead } from '../event-log/lead.ts'
import type { HeldKeys } from '../wallets/key-kinds.ts'
import { type MpcCoordinator, openCoordinator } from './coordinator.ts'
import { keepPool } from './keep-pool.ts'
import { type MpcWalletContext, makeMpcWallet } from './make-mpc-wallet.ts'
import { refreshShares } from './refresh-shares.ts'

/** Every party takes part in each. One more than a tenant may have at once (`QUEUE_LIMITS`). */
const REFRESHES_AT_ONCE = 3

/** @returns null when no parties are configured: mpc wallets then wait for their keys */
export async function openJointKeys(...of: Parameters<typeof openCoordinator>): Promise<HeldKeys | null> {
  const coordinator = await openCoordinator(...of)
  return coordinator && holdJointKeys(of[0], coordinator)
}

/** The keys of the parties that a coordinator reaches. */
export function holdJointKeys(kernel: Context, { signer, ceremonies, settle, close }: MpcCoordinator): HeldKeys {
  const ctx = { ...kernel, ceremonies, busyKeys: new Set<string>() }
  async function refreshAndSettle(keyId: string): Promise<void> {
    await refreshShares(ctx, keyId)
    settle(keyId)
  }
  return {
    signer,
    makeKey: (walletId) => makeMpcWallet(ctx, walletId),
    start(signal) {
      const worker = ctx.jobs.process('shares', ({ key_id }) => refreshAndSettle(key_id ?? ''), {
        concurrency: REFRESHES_AT_ONCE,
      })
      const keeping = keepKeysAhead(ctx, signal)
      // An unfinished key for the pool is no loss: the shutdown does not wait for slow parties.
      return async () =>
        void (await Promise.race([
          Promise.all([worker.close(), keeping]),
          delay(ctx.config.shutdownGraceMs, undefined, { ref: false }),
        ]))
    },
    close,
  }
}

/** Returns immediately when the pool is turned off. */
async function keepKeysAhead(ctx: Context & MpcWalletContext, signal: AbortSignal): Promise<void> {
  const { config, leases, logger } = ctx
  if (config.mpc === null || config.mpc.poolSize === 0) return
  const { poolSize: size, threshold, parties } = config.mpc
  const terms = { threshold, parties }
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot create a key for the key pool; will retry')
  await lead({ leases, name: 'mpc-pool', leaseMs: config.leaseMs, signal, onError }, (_lease, stop) =>
    keepPool(ctx, { terms, size }, onError, stop),
  )
}
