/**
 * Reads API keys. Lookups are by digest, and no digest is returned.
 *
 * Invariant: a row says only where the events of a key are. Who a caller is and what it may do is what these events say,
 * with a valid hash chain; so nobody who writes to the table lets a token in, or gives one another tenant or scope.
 */
import type { Pool } from 'pg'
import { Unavailable } from '../core/errors.ts'
import type { Environment } from '../core/networks.ts'
import { batchLookups } from '../event-log/batch-lookups.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import { readNext, type StreamPart, startOf } from '../event-log/read-next.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS } from '../event-log/rows.ts'
import { NOTHING_SET_ASIDE, readSetAside, type SetAside } from '../event-log/set-aside.ts'
import { EVENTS } from '../event-log/sql.ts'
import { apiKeyAggregate } from './aggregate.ts'
import type { ApiKeyState, KnownApiKey } from './decider.ts'
import type { KeyTerms } from './events.ts'

export type ApiKey = {
  readonly keyId: string
  readonly tenantId: string
  readonly environment: Environment
  readonly label: string
  /** As they were asked for. */
  readonly scopes: readonly string[]
  /** Each scope that it holds, by name. */
  readonly grants: readonly string[]
  readonly ipAllowlist: readonly string[]
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly createdAt: Date
  /** The key that made it; `null` for an operator's. */
  readonly issuedBy: string | null
}

/** With what only its events say. */
export type LoggedApiKey = ApiKey & Pick<KeyTerms, 'limits'>

export type ApiKeyRows = {
  /**
   * The key of a digest (SHA-256, hex) according to the log, including expired and revoked ones. Concurrent calls are
   * unlimited.
   */
  readonly byDigest: (digest: string) => Promise<LoggedApiKey | undefined>
  /** Newest first, at most `limit`; of one tenant or of all. */
  readonly list: (filter: { readonly tenantId?: string; readonly limit: number }) => Promise<readonly ApiKey[]>
}

const COLUMNS = `key_id AS "keyId", tenant_id AS "tenantId", environment, label, scopes, grants, ip_allowlist AS "ipAllowlist",
  expires_at AS "expiresAt", revoked_at AS "revokedAt", created_at AS "createdAt", issued_by AS "issuedBy"`

const STREAM_PREFIX = `${apiKeyAggregate.category}-`

/** As `load_streams`: one index lookup for each key. A key has one event, and one more for each change. */
const KEY_EVENTS = `SELECT e.* FROM api_keys AS k CROSS JOIN LATERAL
  (SELECT ${EVENT_COLUMNS} FROM ${EVENTS} AS events WHERE stream_id = '${STREAM_PREFIX}' || k.key_id
    ORDER BY stream_version OFFSET 0) AS e WHERE k.digest = ANY($1::text[])`

/**
 * @param onBroken called for a key whose events were changed, or are unknown to this version; it lets nobody in
 * @throws (from every method) Unavailable `database_unavailable` when the database does not answer
 */
export function createApiKeyRows(
  pool: Pool,
  onBroken: (keyId: string, problem: unknown) => void = () => undefined,
): ApiKeyRows {
  const query = async <Found extends object>(name: string, text: string, values: unknown[]): Promise<Found[]> =>
    (await answered(() => pool.query<Found>({ name, text, values, types: STORED_TEXTS }))).rows

  async function byDigests(digests: readonly string[]): Promise<Map<string, LoggedApiKey>> {
    const rows = await query<EventRow>('api_keys_by_digests', KEY_EVENTS, [digests])
    let keys = readKeys(rows, NOTHING_SET_ASIDE)
    if (keys.some(({ held }) => held !== null)) keys = readKeys(rows, await answered(() => readSetAside(pool)))
    const found = new Map<string, LoggedApiKey>()
    for (const { keyId, held, state } of keys) {
      if (held !== null) onBroken(keyId, held)
      // A foreign digest that was written into the row of this key finds nothing.
      else if (state.status !== 'unknown') found.set(state.digest, toKey(keyId, state))
    }
    return found
  }

  return {
    byDigest: batchLookups(byDigests),
    list: ({ tenantId, limit }) =>
      query<ApiKey>(
        'api_keys',
        `SELECT ${COLUMNS} FROM api_keys WHERE $1::text IS NULL OR tenant_id = $1 ORDER BY key_id DESC LIMIT $2`,
        [tenantId ?? null, limit],
      ),
  }
}

/** @throws Unavailable `database_unavailable` when the database does not answer */
export async function answered<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isConnectionFailure(error) && !isTransient(error)) throw error
    throw new Unavailable('database_unavailable', 'The database is not available: try again.', { cause: error })
  }
}

/** Each key as its events say, in the order of their streams. */
function readKeys(rows: readonly EventRow[], setAside: SetAside) {
  const keys = new Map<string, StreamPart<ApiKeyState> & { readonly keyId: string }>()
  for (const row of rows) {
    const keyId = row.stream_id.slice(STREAM_PREFIX.length)
    const key = keys.get(keyId) ?? { ...startOf<ApiKeyState>(apiKeyAggregate.initialState), keyId }
    readNext(apiKeyAggregate, key, row, { hashes: true, setAside })
    keys.set(keyId, key)
  }
  return [...keys.values()]
}

function toKey(keyId: string, { digest: _, expiresAt, revokedAt, issuedAt, ...key }: KnownApiKey): LoggedApiKey {
  const createdAt = new Date(issuedAt)
  return { ...key, keyId, expiresAt: dateOf(expiresAt), revokedAt: dateOf(revokedAt), createdAt }
}

function dateOf(instant: string | null): Date | null {
  return instant === null ? null : new Date(instant)
}
