/**
 * Requests refreshes of shares that have become old. Keys created on one day are not refreshed on one day: each key has
 * its own time in the last fifth of the interval, and few run at once.
 */
import type { RepeatedTask } from '../capability.ts'
import type { Context } from '../context.ts'
import { Conflict } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { LIVE_MPC_PARTIES } from '../wallets/signer-presence.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { OPEN } from './sql.ts'

/** Scheduled refreshes wait while this many refreshes, scheduled or requested, are open. */
const AT_ONCE = 8
/** Pause in hours after a failed refresh: its parties may be down for longer. */
const RETRY_AFTER_HOURS = 6

/**
 * Requests the refreshes that are due and returns their number. None while a party is down, since they would fail.
 *
 * @param intervalDays the maximum age of shares
 */
export async function scheduleRefreshes(
  ctx: Pick<Context, 'pool' | 'log' | 'newId'>,
  intervalDays: number,
): Promise<number> {
  const { log, newId } = ctx
  const due = await findDue(ctx, intervalDays)
  let requested = 0
  for (const { keyId, tenantId } of due) {
    const refreshId = newId('refresh')
    const command = { type: 'RequestRefresh', refreshId, reason: 'scheduled', party: null, now: log.now() } as const
    const metadata = { tenantId, actor: 'worker:dispatcher' }
    try {
      await log.execute(mpcKeyAggregate, keyId, command, { metadata })
      requested += 1
    } catch (error) {
      if (!(error instanceof Conflict)) throw error // Already requested meanwhile.
    }
  }
  return requested
}

type Due = { readonly keyId: string; readonly tenantId: string }

/** The last four digits of an id are random: they spread the keys over time. */
async function findDue({ pool, log }: Pick<Context, 'pool' | 'log'>, intervalDays: number): Promise<readonly Due[]> {
  const { rows } = await pool.query<Pick<Row<'mpc_keys', { readonly tenant_id: string }>, 'key_id' | 'tenant_id'>>({
    name: 'due_refreshes',
    text: `SELECT key_id, tenant_id FROM mpc_keys
            WHERE wallet_id IS NOT NULL AND open_refresh IS NULL
              AND refreshed_at < $1::timestamptz - 0.8 * $2 * interval '1 day'
              AND refreshed_at < $1::timestamptz - (0.8 + 0.2 * ('x' || right(key_id, 4))::bit(16)::integer / 65535.0) * $2 * interval '1 day'
              AND (asked_at IS NULL OR asked_at < $1::timestamptz - interval '${RETRY_AFTER_HOURS} hours')
              AND parties <= ${LIVE_MPC_PARTIES}
            ORDER BY refreshed_at
            LIMIT greatest(0, ${AT_ONCE} - (SELECT count(*) FROM mpc_refreshes WHERE ${OPEN}))`,
    values: [log.now(), intervalDays],
  })
  return rows.map((row) => ({ keyId: row.key_id, tenantId: row.tenant_id }))
}

/** None when shares may reach any age, or there are no mpc wallets. */
export const refreshTask: RepeatedTask = {
  name: 'mpc-refreshes',
  intervalMs: ({ sweepIntervalMs }) => sweepIntervalMs,
  failure: 'cannot check for old key shares; will retry',
  build(needs) {
    const intervalDays = needs.config.mpc?.refreshIntervalDays
    return intervalDays ? () => scheduleRefreshes(needs, intervalDays) : null
  },
}
