/** The signer's tasks for joint keys: creating them, maintaining the pool, refreshing shares. */
import { setTimeout as delay } from 'node:timers/promises'
import { lead } from '../event-log/lead.ts'
import { keepPool } from '../mpc-wallets/keep-pool.ts'
import { type MpcWalletContext, makeMpcWallet } from '../mpc-wallets/make-mpc-wallet.ts'
import { refreshShares } from '../mpc-wallets/refresh-shares.ts'
import type { Kernel } from './kernel.ts'
import type { MpcCoordinator } from './mpc-channel.ts'
import type { Work } from './run-process.ts'

/** Every party takes part in each. One more than a tenant may have at once (`QUEUE_LIMITS`). */
const REFRESHES_AT_ONCE = 3

/** @param signal aborts when the process is stopping */
export function startMpcKeys(
  kernel: Kernel,
  { ceremonies, settle }: Pick<MpcCoordinator, 'ceremonies' | 'settle'>,
  signal: AbortSignal,
): Work & { readonly makeMpcWallet: (walletId: string) => Promise<void> } {
  const ctx = { ...kernel, ceremonies, busyKeys: new Set<string>() }
  async function refreshAndSettle(keyId: string): Promise<void> {
    await refreshShares(ctx, keyId)
    settle(keyId)
  }
  const worker = ctx.jobs.process('shares', ({ key_id }) => refreshAndSettle(key_id ?? ''), {
    concurrency: REFRESHES_AT_ONCE,
  })
  const keeping = keepKeysAhead(ctx, signal)
  return {
    makeMpcWallet: (walletId) => makeMpcWallet(ctx, walletId),
    // An unfinished key for the pool is no loss: the shutdown does not wait for slow parties.
    drain: async () =>
      void (await Promise.race([
        Promise.all([worker.close(), keeping]),
        delay(ctx.config.shutdownGraceMs, undefined, { ref: false }),
      ])),
  }
}

/** Returns immediately when the pool is turned off. */
async function keepKeysAhead(ctx: Kernel & MpcWalletContext, signal: AbortSignal): Promise<void> {
  const { config, leases, logger } = ctx
  if (config.mpc === null || config.mpc.poolSize === 0) return
  const { poolSize: size, threshold, parties } = config.mpc
  const terms = { threshold, parties }
  const onError = (error: unknown) => logger.warn({ err: error }, 'cannot create a key for the key pool; will retry')
  await lead({ leases, name: 'mpc-pool', leaseMs: config.leaseMs, signal, onError }, (_lease, stop) =>
    keepPool(ctx, { terms, size }, onError, stop),
  )
}
