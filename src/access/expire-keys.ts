/**
 * Records that keys have expired, so that their owners are told. They stopped to work at that time, whatever is recorded: a
 * key ends by its terms.
 */
import type { RepeatedTask } from '../capability.ts'
import type { Context } from '../context.ts'
import type { Row } from '../event-log/table-rows.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { TO_EXPIRE } from './sql.ts'

const INTERVAL_MS = 60_000
/** In one run. The next one continues, oldest first. */
const MOST = 1_000

/**
 * Records those that are over by the database's clock and by that of this process; returns their number. A key whose
 * stream cannot go on stops no other.
 *
 * @throws the first failure, after the others were recorded
 */
export async function expireKeys({ pool, log }: Pick<Context, 'pool' | 'log'>): Promise<number> {
  const failures: unknown[] = []
  const { rows } = await pool.query<Pick<Row<'api_keys'>, 'key_id' | 'tenant_id'>>({
    name: 'expired_api_keys',
    text: `SELECT key_id, tenant_id FROM api_keys
            WHERE expires_at <= now() AND ${TO_EXPIRE} ORDER BY expires_at LIMIT ${MOST}`,
  })
  for (const { key_id, tenant_id: tenantId } of rows) {
    const metadata = { tenantId, actor: 'worker:dispatcher' }
    await log
      .execute(apiKeyAggregate, key_id, { type: 'ExpireApiKey', now: log.now() }, { metadata })
      .catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
  return rows.length
}

export const expiryTask: RepeatedTask = {
  name: 'api-key-expiry',
  intervalMs: () => INTERVAL_MS,
  failure: 'cannot record API keys that have expired; will retry',
  build: (ctx) => () => expireKeys(ctx),
}
