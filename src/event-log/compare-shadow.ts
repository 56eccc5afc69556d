/** Compares what the log says with what the live tables say, row by row, in the database's own terms. */
import type { Pool } from 'pg'
import type { Shadow } from './replay.ts'

/** A row that stands on one side only, or differs. */
export type Difference = {
  readonly table: string
  readonly side: 'live' | 'replayed'
  readonly row: Readonly<Record<string, unknown>>
}

/** An account that holds nothing may have a row or none: both mean zero. */
const IGNORED = `WHERE NOT (tally.row ? 'held' AND (tally.row->>'held')::numeric = 0)`

/** Every difference; none when live equals replayed. Nothing may be appended meanwhile. */
export async function compareShadow(pool: Pool, shadow: Shadow): Promise<Difference[]> {
  const differences: Difference[] = []
  for (const [table, rows] of shadow) {
    const { rows: found } = await pool.query<{ side: Difference['side']; row: Difference['row'] }>(
      `WITH replayed AS (SELECT to_jsonb(r) AS row FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb) AS r),
            live AS (SELECT to_jsonb(l) AS row FROM ${table} AS l),
            tally AS (SELECT 'live' AS side, row FROM (TABLE live EXCEPT TABLE replayed) AS a
                      UNION ALL SELECT 'replayed', row FROM (TABLE replayed EXCEPT TABLE live) AS b)
       SELECT side, row FROM tally ${IGNORED}`,
      [JSON.stringify([...rows.values()])],
    )
    differences.push(...found.map(({ side, row }) => ({ table, side, row })))
  }
  return differences
}
