/**
 * Requests that need a network which cannot be followed are refused with the reason, before they hold anything. Reads of
 * the database at most once a second, and waits for one only if the last answer is from before a quiet time.
 */
import { Unavailable } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { STALLS } from '../follower/sql.ts'
import type { Kernel } from './kernel.ts'

/** A reorg, a restart of a node or of the follower is over earlier. */
export const STALLED_AFTER_MS = 45_000
/** How long an answer is used. */
const FRESH_MS = 1_000
/** From then on it is no longer used while the next one is read. */
const OLD_MS = 5_000

/** @throws Unavailable `network_unavailable` */
export type RequireUsable = (chainId: number) => Promise<void>

export function createRequireUsable({
  pool,
  chainOf,
  clock,
}: Pick<Kernel, 'pool' | 'chainOf' | 'clock'>): RequireUsable {
  let known: ReadonlyMap<number, string> | null = null
  let reading: Promise<ReadonlyMap<number, string>> | null = null
  let readAt = Number.NEGATIVE_INFINITY

  function refresh(): Promise<ReadonlyMap<number, string>> {
    reading ??= readStalls(pool)
      // A database that does not answer refuses the request itself.
      .catch(() => new Map<number, string>())
      .then((stalls) => {
        known = stalls
        readAt = clock()
        reading = null
        return stalls
      })
    return reading
  }

  return async (chainId) => {
    const age = Math.abs(clock() - readAt)
    const next = age < FRESH_MS ? null : refresh()
    const reason = (age < OLD_MS ? known : await next)?.get(chainId)
    if (reason === undefined) return
    const { network, environment } = chainOf(chainId).settings
    throw new Unavailable('network_unavailable', `${network} (${environment}) cannot be used: ${reason}.`)
  }
}

/** What a check says about a follower that does not move. */
export function stalled(reason: string, ms: number): string {
  return `the follower has not moved for ${Math.round(ms / 1_000)} s: ${reason.replace(/\.$/, '')}`
}

async function readStalls(pool: Kernel['pool']): Promise<ReadonlyMap<number, string>> {
  const { rows } = await pool.query<Pick<Row<'chain_stalls'>, 'chain_id' | 'reason'> & { ms: number }>({
    name: 'stalled_chains',
    text: `SELECT chain_id, reason, extract(epoch FROM clock_timestamp() - since)::double precision * 1000 AS ms FROM ${STALLS} AS stalls WHERE NOT waits`,
  })
  return new Map(
    rows.filter(({ ms }) => ms > STALLED_AFTER_MS).map(({ chain_id, reason, ms }) => [chain_id, stalled(reason, ms)]),
  )
}
