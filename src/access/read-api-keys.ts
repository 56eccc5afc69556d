/** Reads API keys for their owner. Access is restricted in the query. */
import type { Context } from '../context.ts'
import { toInstant } from '../core/ids.ts'
import { requestLimitsOf, spendLimitsOf } from '../core/key-limits.ts'
import type { Owner } from '../core/tenants.ts'
import { readSpent } from '../transactions/read-spent.ts'
import { noSuchApiKey } from './decider.ts'
import { readTaken } from './request-limits.ts'
import { type ApiKeyRow, type ApiKeyView, toView } from './view.ts'

export type ApiKeyFilter = {
  /** Keys that this one made. */
  readonly issuedBy?: string | undefined
  /** Keys older than the one with this id. */
  readonly before?: string | undefined
  readonly limit: number
}

type Found = ApiKeyRow & { readonly last_used_on: string | null }

const KEYS = `SELECT k.*, to_char(u.last_used_on, 'YYYY-MM-DD') AS last_used_on
  FROM api_keys AS k LEFT JOIN api_key_uses AS u USING (key_id) WHERE k.tenant_id = $1 AND k.environment = $2`

/** @throws NotFound `api_key_not_found` */
export async function readApiKey(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  { tenantId, environment }: Owner,
  keyId: string,
): Promise<ApiKeyView> {
  const { rows } = await pool.query<Found>({
    name: 'read_api_key',
    text: `${KEYS} AND k.key_id = $3`,
    values: [tenantId, environment, keyId],
  })
  const [row] = rows
  if (row === undefined) throw noSuchApiKey()
  const nowMs = clock()
  const [spent, taken] = await Promise.all([
    readSpent(pool, spendLimitsOf(row.limits), toInstant(nowMs)),
    readTaken(pool, requestLimitsOf(row.limits)),
  ])
  return toView(row, { spent, taken }, nowMs)
}

/** Newest first: ids sort by creation time. */
export async function listApiKeys(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  { tenantId, environment }: Owner,
  { issuedBy, before, limit }: ApiKeyFilter,
): Promise<ApiKeyView[]> {
  // Each combination is a statement of its own: a plan for all of them would read what is before the cursor, too.
  const older = before === undefined ? '' : 'AND k.key_id < $4'
  const made = issuedBy === undefined ? '' : `AND k.issued_by = $${before === undefined ? 4 : 5}`
  const { rows } = await pool.query<Found>({
    name: `list_api_keys${older && '_older'}${made && '_by_issuer'}`,
    text: `${KEYS} ${older} ${made} ORDER BY k.key_id DESC LIMIT $3`,
    values: [tenantId, environment, limit, before, issuedBy].filter((value) => value !== undefined),
  })
  const nowMs = clock()
  return rows.map((row) => toView(row, null, nowMs))
}
