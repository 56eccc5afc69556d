/** Says every few seconds that this process lives: readiness and wallet creation look for signers here. */
import type { Kernel } from './kernel.ts'

const BEAT_MS = 3_000
/** A process that has been silent for so long is gone: its row goes too. */
const FORGET_AFTER = '1 hour'

export function startHeartbeat({ pool, processName, instance, logger }: Kernel): {
  readonly stop: () => Promise<void>
} {
  const beat = () =>
    pool
      .query({
        name: 'heartbeat',
        text: `INSERT INTO heartbeats (process, instance, beat_at) VALUES ($1, $2, clock_timestamp())
               ON CONFLICT (process, instance) DO UPDATE SET beat_at = excluded.beat_at`,
        values: [processName, instance],
      })
      .catch((error) => logger.warn({ err: error }, 'a heartbeat was not written'))
  void beat()
  const timer = setInterval(beat, BEAT_MS)
  return {
    async stop() {
      clearInterval(timer)
      await pool
        .query(
          `DELETE FROM heartbeats WHERE (process = $1 AND instance = $2) OR beat_at < clock_timestamp() - interval '${FORGET_AFTER}'`,
          [processName, instance],
        )
        .catch((error) => logger.warn({ err: error }, 'a heartbeat was not taken away'))
    },
  }
}
