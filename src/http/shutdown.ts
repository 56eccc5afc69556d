/**
 * Stops a process in order: on the first SIGTERM or SIGINT, or when the parent that started it with a channel has
 * exited, each step in turn within a grace time; on a second signal, immediately.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** A part to close: first what accepts work, last what that work needs. */
export type ClosingStep = { readonly name: string; readonly close: () => Promise<unknown> }

/**
 * Listens for the signals. @returns a function that stops in the same way without a signal
 *
 * Exit code 0 when every step succeeded, 1 when one failed or the grace time expired, and 128 + the signal number after
 * a second signal.
 */
export function closeOnSignal({
  logger,
  graceMs,
  steps,
  exit = process.exit,
}: {
  readonly logger: Logger
  /** Milliseconds for all steps together. */
  readonly graceMs: number
  readonly steps: readonly ClosingStep[]
  /** Ends the process; tests pass their own. */
  readonly exit?: (code: number) => void
}): () => Promise<void> {
  let stopping: Promise<void> | undefined

  async function stop(reason: string): Promise<void> {
    logger.info({ reason, grace_ms: graceMs }, 'stopping')
    const done = await Promise.race([closeAll(steps, logger), delay(graceMs, null, { ref: false })])
    if (done === null) logger.error({ grace_ms: graceMs }, 'the grace period ended before the shutdown was complete')
    else logger.info('stopped')
    exit(done === true ? 0 : 1)
  }

  for (const [index, signal] of SIGNALS.entries()) {
    process.on(signal, () => {
      if (stopping !== undefined) exit(128 + (index === 0 ? 15 : 2))
      stopping ??= stop(signal)
    })
  }
  const orphaned = () => {
    stopping ??= stop('disconnect')
  }
  process.once('disconnect', orphaned)
  // The parent may have exited while this process was loading, before this listener existed.
  if (process.send !== undefined && !process.connected) orphaned()
  return () => {
    stopping ??= stop('requested')
    return stopping
  }
}

/** A failed step does not prevent the later ones. @returns whether all succeeded */
async function closeAll(steps: readonly ClosingStep[], logger: Logger): Promise<boolean> {
  let clean = true
  for (const { name, close } of steps) {
    try {
      await close()
    } catch (error) {
      clean = false
      logger.error({ step: name, err: error }, 'a shutdown step failed')
    }
  }
  return clean
}
