/**
 * The periodic tasks of a party: deletes ended transactions from the journal, compares it with what was written, and
 * removes unused shares. Errors never end the process.
 */
import type { Context } from '../context.ts'
import { notHeld } from '../event-log/aggregate.ts'
import { pause } from '../event-log/lead.ts'
import type { JointKeysOf } from '../keys/mpc/ceremonies.ts'
import { forgetEnded } from '../keys/mpc/forget-ended.ts'
import type { HeldByAll } from '../keys/mpc/held-by-all.ts'
import type { ShareStore } from '../keys/mpc/share-store.ts'
import type { SigningJournal } from '../keys/mpc/signing-journal.ts'
import { tidyShares } from '../keys/mpc/tidy-shares.ts'
import { transactionAggregate } from '../transactions/aggregate.ts'
import { hasEndedForGood } from '../transactions/ended-for-good.ts'
import { mpcKeyAggregate } from './aggregate.ts'

const HOURLY_MS = 60 * 60_000
/** Between two comparisons of the journal with what this process wrote, ms: one `stat`. */
const JOURNAL_MS = 10_000
/** Pause while old shares are kept because another party was away, ms. At the start the others are often not connected. */
const WAITING_MS = 60_000
/** Pause after an error, ms: the database may be unavailable. */
const RETRY_MS = 60_000
/** Pause between two steps, ms: a step takes some milliseconds of CPU time, and signing gets the rest. */
const REST_MS = 100

/**
 * Runs everything once at the start: notifications about refreshed shares may have been lost while the party was down.
 *
 * @param signal stops it
 * @returns `ended` resolves when all tasks have stopped; `shares` says which keys have old shares, `null` for none
 */
export function startMpcUpkeep(
  kernel: Pick<Context, 'logger' | 'clock' | 'log'>,
  {
    journal,
    ...shares
  }: {
    readonly store: ShareStore
    readonly journal: SigningJournal
    readonly jointKeysOf: JointKeysOf
    readonly heldByAll: Pick<HeldByAll, 'removing'>
  },
  signal: AbortSignal,
): { readonly ended: Promise<void>; readonly shares: () => string | null } {
  const { logger, clock, log } = kernel
  const rest = () => pause(REST_MS, signal)
  let oldShares: string | null = null
  let damageTold = false
  const ctx = {
    ...shares,
    journal,
    clock,
    rest,
    endedForGood: (transactionIds: readonly string[]) => endedForGood(kernel, transactionIds),
    async isRecorded(keyId: string) {
      const [head] = await log.heads([`${mpcKeyAggregate.category}-${keyId}`])
      return (head?.version ?? 0) > 0
    },
    onError: (error: unknown, keyId: string) =>
      logger.warn({ err: error, key_id: keyId }, 'cannot delete unused shares'),
  }
  const upkeep = [
    repeat(async () => {
      if (journal.damage() === null) logger.info(await forgetEnded(ctx, signal), 'signing journal checked')
      return HOURLY_MS
    }),
    repeat(async () => {
      const { old, without, ...counts } = await tidyShares(ctx, signal)
      logger.info({ ...counts, without: without.length }, 'shares checked')
      oldShares = wordsOf(old, without)
      return old.length + without.length > 0 ? WAITING_MS : HOURLY_MS
    }),
    repeat(async () => {
      await journal.check().catch((error: unknown) => {
        if (journal.damage() === null) throw error
        if (!damageTold) logger.error({ err: error }, 'the signing journal is damaged')
        damageTold = true
      })
      return JOURNAL_MS
    }),
  ]

  /** @param work returns the pause until it runs again, ms */
  async function repeat(work: () => Promise<number>): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await work().catch((error: unknown) => {
        logger.warn({ err: error }, 'a maintenance task of the party failed; will retry')
        return RETRY_MS
      })
      await pause(waitMs, signal)
    }
  }

  return { ended: Promise.all(upkeep).then(() => undefined), shares: () => oldShares }
}

/** Keys that a heartbeat names. */
const NAMED = 5

function wordsOf(old: readonly string[], without: readonly string[]): string | null {
  const named = (ids: readonly string[]) => `${ids.slice(0, NAMED).join(', ')}${ids.length > NAMED ? ', …' : ''}`
  const keys = ({ length }: readonly string[]) => `${length} ${length === 1 ? 'key' : 'keys'}`
  const words = [
    ...(old.length === 0
      ? []
      : [
          `It keeps older shares of ${keys(old)} (${named(old)}), because another party was away or lacks the new ones.`,
        ]),
    ...(without.length === 0
      ? []
      : [`Of ${keys(without)} (${named(without)}) it has old shares only, and cannot sign with them.`]),
  ]
  return words.length === 0 ? null : words.join(' ')
}

async function endedForGood(
  { log, clock }: Pick<Context, 'log' | 'clock'>,
  transactionIds: readonly string[],
): Promise<readonly string[]> {
  const loaded = notHeld(await log.loadMany(transactionAggregate, transactionIds))
  return loaded.flatMap(({ id, state }) => (hasEndedForGood(state, clock()) ? [id] : []))
}
