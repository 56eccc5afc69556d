/**
 * Keeps minted content on IPFS: pins unpinned content (the node was configured later) and has the node confirm the rest
 * periodically, which also restores lost content.
 */
import type { Context } from '../../context.ts'
import { actAtOnce } from './at-once.ts'
import type { Pin } from './pin.ts'
import { type DuePin, findDuePins, forgetUnminted, postponePin, recordPinned } from './pin-rows.ts'

/** At most 256 KiB each: bounds the memory use. */
const BATCH = 64
/** Fewer than a request uses: mints have priority. */
const PINS_AT_ONCE = 4
const TIMEOUT_MS = 10_000

/**
 * Processes the due content. Content that the node refuses is postponed, and a failure ends the round: a node that is
 * down is not called for the rest.
 *
 * @returns how many pieces of content the node confirmed
 * @throws Unavailable `ipfs_unavailable`, `ipfs_cid_mismatch` after the first failure; earlier confirmations are
 *   recorded
 */
export async function repin(
  { pool, pin, clock }: Pick<Context, 'pool' | 'clock'> & { readonly pin: Pin },
  signal: AbortSignal,
): Promise<number> {
  async function pinDue(due: DuePin, signal: AbortSignal): Promise<void> {
    try {
      await pin(due, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))
    } catch (error) {
      if (!signal.aborted) await postponePin(pool, due.cid, clock())
      throw error
    }
    await recordPinned(pool, [due.cid], clock())
  }

  let pinned = 0
  for (;;) {
    const due = await findDuePins(pool, clock(), BATCH)
    if (due.length === 0) break
    try {
      await actAtOnce(due, PINS_AT_ONCE, pinDue, signal)
    } catch (error) {
      if (signal.aborted) break
      throw error
    }
    pinned += due.length
  }
  await forgetUnminted(pool, clock())
  return pinned
}
