/**
 * The periodic tasks of a party: deletes ended transactions from the journal, and removes unused shares. Errors never
 * end the process.
 */
import { notHeld } from '../event-log/aggregate.ts'
import { pause } from '../event-log/lead.ts'
import type { JointKeysOf } from '../keys/mpc/ceremonies.ts'
import { createForgetEnded } from '../keys/mpc/forget-ended.ts'
import type { ShareStore } from '../keys/mpc/share-store.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import { createTidyShares } from '../keys/mpc/tidy-shares.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import { hasEndedForGood } from '../transactions/ended-for-good.ts'
import type { Kernel } from './kernel.ts'

const HOURLY_MS = 60 * 60_000
const DAILY_MS = 24 * HOURLY_MS
/** Pause after an error, ms: the database may be unavailable. */
const RETRY_MS = 60_000
/** Pause between two steps, ms: a step takes some milliseconds of CPU time, and signing gets the rest. */
const REST_MS = 100

export type MpcUpkeepPorts = {
  readonly store: ShareStore
  readonly journal: SigningJournal
  readonly jointKeysOf: JointKeysOf
}

/**
 * Runs everything once at the start: notifications about refreshed shares may have been lost while the party was down.
 *
 * @param signal stops it
 * @returns `ended` resolves when all tasks have stopped
 */
export function startMpcUpkeep(
  kernel: Kernel,
  { store, journal, jointKeysOf }: MpcUpkeepPorts,
  signal: AbortSignal,
): { readonly ended: Promise<void> } {
  const { logger, clock } = kernel
  const rest = () => pause(REST_MS, signal)
  const forgetEnded = createForgetEnded({ journal, endedForGood: endedForGood(kernel), clock, rest })
  const tidyShares = createTidyShares({
    store,
    jointKeysOf,
    clock,
    rest,
    onError: (error, keyId) => logger.warn({ err: error, key_id: keyId }, 'cannot delete unused shares'),
  })
  const upkeep = [
    repeat(HOURLY_MS, async () => logger.info(await forgetEnded(signal), 'signing journal checked')),
    repeat(DAILY_MS, async () => logger.info(await tidyShares(signal), 'shares checked')),
  ]

  async function repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await work().then(
        () => everyMs,
        (error: unknown) => {
          logger.warn({ err: error }, 'a maintenance task of the party failed; will retry')
          return RETRY_MS
        },
      )
      await pause(waitMs, signal)
    }
  }

  return { ended: Promise.all(upkeep).then(() => undefined) }
}

function endedForGood({ log, clock }: Kernel): (transactionIds: readonly string[]) => Promise<readonly string[]> {
  return async (transactionIds) => {
    const loaded = notHeld(await log.loadMany(transactionAggregate, transactionIds))
    return loaded.flatMap(({ id, state }) => (hasEndedForGood(state, clock()) ? [id] : []))
  }
}
