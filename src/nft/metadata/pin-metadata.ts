/**
 * Pins metadata before a mint: content that a token will name is on IPFS before the mint is accepted, or the mint is
 * refused. Without an IPFS node nothing is pinned; Bursar serves the content, and it is pinned once a node is
 * configured.
 */
import type { Context } from '../../context.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { actAtOnce } from './at-once.ts'
import type { Content } from './content.ts'
import type { Pin } from './pin.ts'
import { recordPinned } from './pin-rows.ts'

/** A batch of 100 takes a node some hundred milliseconds. A request waits at most this long. */
const DEADLINE_MS = 15_000
const PINS_AT_ONCE = 8
/** Content confirmed more recently is not sent again: editions share their metadata. */
const FRESH_MS = 60 * 60 * 1_000

/**
 * Pins content that is about to be minted; equal content once. A failure records nothing, and a retry is safe.
 *
 * @param pin null without an IPFS node
 * @param deadlineMs how long it waits for the node
 * @throws Unavailable `ipfs_unavailable`, `ipfs_cid_mismatch`: the mint must not be accepted
 */
export async function pinMetadata(
  { pool, pin, clock }: Pick<Context, 'pool' | 'clock'> & { readonly pin: Pin | null },
  contents: readonly Pick<Content, 'cid' | 'text'>[],
  deadlineMs = DEADLINE_MS,
): Promise<void> {
  if (pin === null) return
  const byCid = new Map(contents.map((content) => [content.cid, content]))
  const { rows } = await pool.query<Pick<Row<'nft_pins'>, 'cid'>>({
    name: 'fresh_pins',
    text: 'SELECT cid FROM nft_pins WHERE cid = ANY ($1) AND pinned_at > $2',
    values: [[...byCid.keys()], new Date(clock() - FRESH_MS)],
  })
  for (const { cid } of rows) byCid.delete(cid)
  if (byCid.size === 0) return
  await actAtOnce([...byCid.values()], PINS_AT_ONCE, pin, AbortSignal.timeout(deadlineMs))
  await recordPinned(pool, [...byCid.keys()], clock())
}
