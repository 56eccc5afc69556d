/** Lets a request wait until a refresh has succeeded or failed. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { type WaitUntil, waitUntilRow } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import { OPEN } from './sql.ts'

/** Default time that a request waits, ms: a ceremony takes a second or two when all parties are alive. */
export const DEFAULT_REFRESH_WAIT_MS = 10_000

/** By refresh: resolves once it has ended, or with `null` after the timeout. */
export type UntilRefreshed = WaitUntil<unknown>

export function createUntilRefreshed(pool: Pool, wakeUps: WakeUps): UntilRefreshed {
  return waitUntilRow<Pick<Row<'mpc_refreshes'>, 'refresh_id'>>(
    { pool, wakeUps },
    {
      name: 'ended_refreshes',
      text: `SELECT refresh_id FROM mpc_refreshes WHERE refresh_id = ANY($1) AND NOT ${OPEN}`,
      id: 'refresh_id',
    },
  )
}
