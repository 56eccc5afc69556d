/**
 * Pin before mint: what a token will name is on IPFS before the mint is accepted, or the mint is refused. Where no IPFS node
 * is configured, nothing is pinned; the content is served by Bursar alone and is due for the day when there is one.
 */
import type { Pool } from 'pg'
import type { Clock } from '../../core/ids.ts'
import { actAtOnce } from './at-once.ts'
import type { Content } from './content.ts'
import type { Pin } from './pin.ts'
import { recordPinned } from './pin-rows.ts'

/** A batch of 100 takes a node some hundred milliseconds. A request does not wait longer than this for it. */
const DEADLINE_MS = 15_000
const PINS_AT_ONCE = 8
/** What the node confirmed so lately is not sent again: editions share their metadata. */
const FRESH_MS = 60 * 60 * 1_000

/**
 * Pins content that is about to be minted; equal content once. Nothing is recorded of what fails, and it is safe to try again.
 *
 * @throws Unavailable `ipfs_unavailable`, `ipfs_cid_mismatch`: the mint must not be accepted
 */
export type PinMetadata = (contents: readonly Pick<Content, 'cid' | 'text'>[]) => Promise<void>

export type PinMetadataPorts = {
  readonly pool: Pool
  /** Null where no IPFS node is configured. */
  readonly pin: Pin | null
  readonly clock: Clock
  readonly deadlineMs?: number
}

export function createPinMetadata({ pool, pin, clock, deadlineMs = DEADLINE_MS }: PinMetadataPorts): PinMetadata {
  if (pin === null) return async () => undefined
  return async (contents) => {
    const byCid = new Map(contents.map((content) => [content.cid, content]))
    const { rows } = await pool.query<{ cid: string }>({
      name: 'fresh_pins',
      text: 'SELECT cid FROM nft_pins WHERE cid = ANY ($1) AND pinned_at > $2',
      values: [[...byCid.keys()], new Date(clock() - FRESH_MS)],
    })
    for (const { cid } of rows) byCid.delete(cid)
    if (byCid.size === 0) return
    await actAtOnce([...byCid.values()], PINS_AT_ONCE, pin, AbortSignal.timeout(deadlineMs))
    await recordPinned(pool, [...byCid.keys()], clock())
  }
}
