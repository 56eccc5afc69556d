/**
 * The positions of a log that belong to no event. A refused append uses some up. No hash and no checkpoint contains a
 * position, so positions that are far apart show a changed file, and would use up those of later appends.
 */
import type { Client } from 'pg'
import { BadExport } from './export-format.ts'

/** The positions that one gap may leave out: those of the refused appends between two events. */
export const MOST_LEFT_OUT = 10_000
/** The most that an operator may allow: a log of a billion events then still leaves 80 of 100 positions for later ones. */
export const MOST_ALLOWED = 1_000_000_000

export type PositionGaps = { readonly gaps: number; readonly positions: bigint }

/** One row for each gap: the event after it, and the positions that it leaves out. */
const GAPS = `SELECT * FROM (SELECT position, transaction_id, position - lag(position, 1, 0::bigint) OVER (ORDER BY position) - 1 AS left_out
    FROM events) AS event WHERE left_out > 0`

/**
 * Counts the gaps of the log that a session sees.
 *
 * @param allowed the positions that one gap may leave out
 * @param rowLines the lines of the file that are no events, ascending, without its first and last
 * @throws BadExport for a larger gap, with the line of the event after it
 */
export async function judgeGaps(
  session: Client,
  { allowed, rowLines }: { readonly allowed: number; readonly rowLines: readonly number[] },
): Promise<PositionGaps> {
  const { rows } = await session.query<{ gaps: string; positions: string; largest: string | null }>(
    `SELECT count(*) AS gaps, coalesce(sum(left_out), 0) AS positions, max(left_out) AS largest FROM (${GAPS}) AS gap`,
  )
  const [{ gaps, positions, largest } = { gaps: '0', positions: '0', largest: null }] = rows
  if (BigInt(largest ?? 0) > BigInt(allowed)) throw await tooLarge(session, allowed, rowLines)
  return { gaps: Number(gaps), positions: BigInt(positions) }
}

async function tooLarge(session: Client, allowed: number, rowLines: readonly number[]): Promise<BadExport> {
  const { rows } = await session.query<{ position: string; left_out: string; place: string }>(
    `SELECT position, left_out,
            (SELECT count(*) FROM events AS e WHERE (e.transaction_id, e.position) <= (gap.transaction_id, gap.position)) AS place
       FROM (${GAPS}) AS gap ORDER BY left_out DESC LIMIT 1`,
  )
  const { position, left_out: leftOut, place } = rows[0] ?? { position: '?', left_out: '0', place: '0' }
  // The first line is the header.
  let line = Number(place) + 1
  for (const row of rowLines) if (row <= line) line += 1
  const remedy =
    BigInt(leftOut) <= BigInt(MOST_ALLOWED)
      ? `If the old database refused that many appends in a row, use --allow-gaps ${leftOut}.`
      : 'Export the log again.'
  return new BadExport(
    `Line ${line} has the position ${position} and leaves out the ${leftOut} before it, more than the ${allowed} of refused appends: events were removed, or positions were changed. ${remedy}`,
  )
}
