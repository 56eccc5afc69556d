/** Quarantined tokens, whose contracts cannot be read: their balances may be outdated. */
import type { Pool } from 'pg'
import type { Asset } from '../core/assets.ts'
import { Conflict } from '../core/errors.ts'
import { batchLookups } from '../event-log/batch-lookups.ts'
import type { Row } from '../event-log/table-rows.ts'

/**
 * The failure of the contract: `gas`: it used more gas than a read may; `size`: it returned too much; `none`: it
 * returned nothing; `timeout`: no answer in time.
 */
export const UNREADABLE_REASONS = ['gas', 'size', 'none', 'timeout'] as const

export type Unreadable = {
  /** ISO 8601. */
  readonly since: string
  readonly reason: (typeof UNREADABLE_REASONS)[number]
  /** ISO 8601: time of the next try. */
  readonly retryAt: string
}

/** `null` for a readable token, and for the native currency. */
export type UnreadableOf = (chainId: number, asset: Pick<Asset, 'contract'>) => Unreadable | null

const COLUMNS = ['chain_id', 'contract', 'since', 'reason', 'retry_at'] as const
type UnreadableRow = Pick<Row<'unread_tokens', { readonly reason: Unreadable['reason'] }>, (typeof COLUMNS)[number]>

/** The rows of the tokens that cannot be read. */
const SELECT = `SELECT ${COLUMNS.join(', ')} FROM unread_tokens WHERE quarantined_at IS NOT NULL`

export async function readUnreadable(pool: Pool, chainIds: readonly number[]): Promise<UnreadableOf> {
  const { rows } = await pool.query<UnreadableRow>({
    name: 'unreadable_tokens',
    text: `${SELECT} AND chain_id = ANY ($1)`,
    values: [chainIds],
  })
  const found = new Map(rows.map((row) => [nameOf(row.chain_id, row.contract), toUnreadable(row)]))
  return (chainId, { contract }) => (contract === null ? null : (found.get(nameOf(chainId, contract)) ?? null))
}

/** @throws Conflict `token_unreadable` */
export type RequireReadable = (chainId: number, asset: Asset) => Promise<void>

/** Refuses operations that need the balance of an unreadable token. Requests that wait at the same time share a query. */
export function createRequireReadable(pool: Pool): RequireReadable {
  const find = batchLookups(async (names) => {
    const keys = names.map((name) => name.split(' '))
    const { rows } = await pool.query<UnreadableRow>({
      name: 'unreadable_token',
      text: `${SELECT} AND (chain_id, contract) IN (SELECT * FROM unnest($1::integer[], $2::text[]))`,
      values: [keys.map(([chainId]) => chainId), keys.map(([, contract]) => contract)],
    })
    return new Map(rows.map((row) => [nameOf(row.chain_id, row.contract), toUnreadable(row)]))
  })
  return async (chainId, { contract, symbol }) => {
    if (contract === null) return
    const unreadable = await find(nameOf(chainId, contract))
    if (unreadable === undefined) return
    const { since, reason, retryAt } = unreadable
    throw new Conflict(
      'token_unreadable',
      `The contract of ${symbol} (${contract}) has not been readable since ${since}, so the balance is not known. ` +
        `The next attempt is at ${retryAt}: try again after that time.`,
      { contract_address: contract, since, reason, retry_at: retryAt },
    )
  }
}

const nameOf = (chainId: number, contract: string) => `${chainId} ${contract}`

function toUnreadable({ since, reason, retry_at }: UnreadableRow): Unreadable {
  return { since: since.toISOString(), reason, retryAt: retry_at.toISOString() }
}
