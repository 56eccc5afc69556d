/**
 * Stops a process in order: on the first SIGTERM or SIGINT, or when the parent that started it with a channel is gone, each
 * step in turn, all within a grace time; on a signal after that, at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Something to close: what takes in work first, what that work needs last. */
export type ClosingStep = { readonly name: string; readonly close: () => Promise<unknown> }

export type ShutdownOptions = {
  readonly logger: Logger
  /** Milliseconds that all steps may take together. */
  readonly graceMs: number
  readonly steps: readonly ClosingStep[]
  /** Ends the process; a test gives one of its own. */
  readonly exit?: (code: number) => void
}

/**
 * Listens for the signals. @returns a function that stops in the same way without one
 *
 * The process ends with 0 when every step was done, with 1 when one failed or the grace time ran out, and with
 * 128 + the number of the signal when it was told twice.
 */
export function closeOnSignal({ logger, graceMs, steps, exit = process.exit }: ShutdownOptions): () => Promise<void> {
  let stopping: Promise<void> | undefined

  async function stop(reason: string): Promise<void> {
    logger.info({ reason, grace_ms: graceMs }, 'stopping')
    const done = await Promise.race([closeAll(steps, logger), delay(graceMs, null, { ref: false })])
    if (done === null) logger.error({ grace_ms: graceMs }, 'the grace time ran out')
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
  // The parent may have died while this process was still loading: then the event came before anybody listened.
  if (process.send !== undefined && !process.connected) orphaned()
  return () => {
    stopping ??= stop('asked to')
    return stopping
  }
}

/** A step that fails does not keep the later ones from closing. @returns whether all were done */
async function closeAll(steps: readonly ClosingStep[], logger: Logger): Promise<boolean> {
  let clean = true
  for (const { name, close } of steps) {
    try {
      await close()
    } catch (error) {
      clean = false
      logger.error({ step: name, err: error }, 'could not close')
    }
  }
  return clean
}
