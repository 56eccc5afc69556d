/** The table of pins: when the IPFS node last confirmed content, and when it is checked again. */
import type { Pool } from 'pg'

/**
 * Only the node's operator can lose a confirmed pin; a weekly check costs a few calls a second for millions of tokens.
 */
const VERIFY_AFTER_MS = 7 * 24 * 60 * 60 * 1_000
/** Content that a node refuses is retried after the others. */
const RETRY_AFTER_MS = 5 * 60 * 1_000

export type DuePin = { readonly cid: string; readonly text: string }

/** Content to pin or verify, longest waiting first. */
export async function findDuePins(pool: Pool, now: number, limit: number): Promise<DuePin[]> {
  const { rows } = await pool.query<DuePin>({
    name: 'due_pins',
    text: `SELECT p.cid, m.content AS text FROM nft_pins p JOIN nft_metadata m USING (cid)
            WHERE p.due_at <= $1 ORDER BY p.due_at LIMIT $2`,
    values: [new Date(now), limit],
  })
  return rows
}

/**
 * Deletes pins of content that was never minted, because its mint was refused after pinning. They were confirmed long
 * ago, so no current mint depends on them.
 */
export async function forgetUnminted(pool: Pool, now: number): Promise<void> {
  await pool.query({
    name: 'forget_unminted_pins',
    text: `DELETE FROM nft_pins p
            WHERE p.due_at <= $1 AND p.pinned_at IS NOT NULL AND NOT EXISTS (SELECT FROM nft_metadata m WHERE m.cid = p.cid)`,
    values: [new Date(now)],
  })
}

export async function recordPinned(pool: Pool, cids: readonly string[], now: number): Promise<void> {
  await pool.query({
    name: 'record_pinned',
    text: `INSERT INTO nft_pins (cid, pinned_at, due_at) SELECT cid, $2, $3 FROM unnest($1::text[]) AS cid ORDER BY cid
             ON CONFLICT (cid) DO UPDATE SET pinned_at = excluded.pinned_at, due_at = excluded.due_at`,
    values: [cids, new Date(now), new Date(now + VERIFY_AFTER_MS)],
  })
}

export async function postponePin(pool: Pool, cid: string, now: number): Promise<void> {
  await pool.query({
    name: 'postpone_pin',
    text: 'UPDATE nft_pins SET due_at = $2 WHERE cid = $1',
    values: [cid, new Date(now + RETRY_AFTER_MS)],
  })
}

/** Content that the node never confirmed. */
export async function countPendingPins(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM nft_pins WHERE pinned_at IS NULL')
  return Number(rows[0]?.n ?? 0)
}
