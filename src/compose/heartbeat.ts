/**
 * Records periodically that this process is alive, and its current problem: readiness and wallet creation look for
 * signers here, operators for problems.
 */
import type { Kernel } from './kernel.ts'

/** A third of the time after which a process without a heartbeat counts as dead. */
const BEAT_MS = 5_000

/** @param problem what the live process cannot do; `null` for nothing */
export function startHeartbeat(
  { pool, processName, instance, logger }: Kernel,
  problem: () => string | null = () => null,
): { readonly stop: () => Promise<void> } {
  const beat = () =>
    pool
      .query({
        name: 'heartbeat',
        text: 'SELECT record_heartbeat($1, $2, $3)',
        values: [processName, instance, problem()],
      })
      .catch((error) => logger.warn({ err: error }, 'cannot write the heartbeat'))
  void beat()
  const timer = setInterval(beat, BEAT_MS)
  return {
    async stop() {
      clearInterval(timer)
      await pool
        .query('SELECT remove_heartbeat($1, $2)', [processName, instance])
        .catch((error) => logger.warn({ err: error }, 'cannot delete the heartbeat'))
    },
  }
}
