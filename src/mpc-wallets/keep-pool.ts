/**
 * Maintains a pool of joint keys, so that a new mpc wallet has its key immediately. One process leads; it creates one
 * key at a time, and none while a transaction, a wallet without key or a refresh waits for the same parties.
 */
import type { Context } from '../context.ts'
import { pause } from '../event-log/lead.ts'
import { backoffMs, type RetryPolicy } from '../jobs/backoff.ts'
import { isWaiting, TRANSACTIONS } from '../transactions/sql.ts'
import type { MpcTerms } from '../wallets/events.ts'
import { REQUESTED, WALLETS } from '../wallets/sql.ts'
import { generateKey } from './generate-key.ts'
import { OPEN } from './sql.ts'

/** Interval of a cheap query: a key that was taken should be replaced soon. */
const LOOK_MS = 1_000
/** Parties that are down are asked less and less often: a wallet that needs a key asks on its own. */
const RETRIES: RetryPolicy = { attempts: Infinity, baseMs: 1_000, capMs: 30_000 }
/** Work that has waited longer does not wait for the parties. */
const LATELY = `clock_timestamp() - interval '30 seconds'`

/**
 * Runs until the signal aborts.
 *
 * @param onError called for a key that could not be created, which is tried again
 * @param wanted.size target size of the pool
 */
export async function keepPool(
  ctx: Parameters<typeof generateKey>[0] & Pick<Context, 'pool' | 'newId'>,
  wanted: { readonly terms: MpcTerms; readonly size: number },
  onError: (error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    try {
      const isWanted = await wantsKey(ctx, wanted)
      if (isWanted) await generateKey(ctx, ctx.newId('mpcKey'), wanted.terms)
      failures = 0
      if (!isWanted) await pause(LOOK_MS, signal)
    } catch (error) {
      failures += 1
      onError(error)
      await pause(backoffMs(RETRIES, failures, Math.random()), signal)
    }
  }
}

async function wantsKey(
  { pool }: Pick<Context, 'pool'>,
  { terms, size }: Parameters<typeof keepPool>[1],
): Promise<boolean> {
  const { rows } = await pool.query<{ wanted: boolean }>({
    name: 'wants_mpc_key',
    text: `SELECT (SELECT count(*) FROM mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2) < $3
                  AND NOT EXISTS (SELECT FROM ${TRANSACTIONS} t JOIN ${WALLETS} w ON w.wallet_id = t.wallet_id
                                   WHERE ${isWaiting('t')} AND w.type = 'mpc' AND t.created_at > ${LATELY})
                  AND NOT EXISTS (SELECT FROM ${WALLETS} AS wallets WHERE ${REQUESTED} AND type = 'mpc' AND created_at > ${LATELY})
                  AND NOT EXISTS (SELECT FROM mpc_refreshes WHERE ${OPEN} AND requested_at > ${LATELY}) AS wanted`,
    values: [terms.threshold, terms.parties, size],
  })
  return rows[0]?.wanted === true
}
