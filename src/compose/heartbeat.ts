/** Says every few seconds that this process lives: readiness and wallet creation look for signers here. */
import type { Kernel } from './kernel.ts'

const BEAT_MS = 3_000

export function startHeartbeat({ pool, processName, instance, logger }: Kernel): {
  readonly stop: () => Promise<void>
} {
  const beat = () =>
    pool
      .query({
        name: 'heartbeat',
        text: 'SELECT record_heartbeat($1, $2)',
        values: [processName, instance],
      })
      .catch((error) => logger.warn({ err: error }, 'a heartbeat was not written'))
  void beat()
  const timer = setInterval(beat, BEAT_MS)
  return {
    async stop() {
      clearInterval(timer)
      await pool
        .query('SELECT remove_heartbeat($1, $2)', [processName, instance])
        .catch((error) => logger.warn({ err: error }, 'a heartbeat was not taken away'))
    },
  }
}
