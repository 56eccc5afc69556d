/**
 * When a change of a webhook counts. A sender reads its terms, and begins to send by them for a short time; then it reads
 * them again. The answer to a change waits for that time, if a sender may send.
 *
 * Invariant: after the answer, no delivery begins by the terms before: to their URL, with their secrets, or while the
 * webhook is disabled or deleted. Both times are measured from outside of what they bound, by clocks that nobody sets.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { LEASES } from '../event-log/sql.ts'
import { leaseOfLine, replaysOf } from './line.ts'

/** So long after a sender began to read them, its terms count. */
export const TERMS_MS = 1_000
/** The clocks of two machines do not run equally fast. */
const ANSWER_MS = 1.1 * TERMS_MS

/** Waits, after a change was appended, until no delivery begins by the terms before it. */
export async function untilChanged({ pool }: Pick<Context, 'pool'>, webhookId: string): Promise<void> {
  // Who takes a lease from now on reads the terms afterwards.
  const { rowCount } = await pool.query({
    name: 'senders_of_webhook',
    text: `SELECT FROM ${LEASES} AS leases WHERE name = ANY ($1::text[]) AND expires_at > clock_timestamp()`,
    values: [[webhookId, replaysOf(webhookId)].map(leaseOfLine)],
  })
  if (rowCount !== 0) await pause(ANSWER_MS)
}
