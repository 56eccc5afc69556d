/** Quarantined tokens, whose contracts cannot be read: their balances may be outdated. */
import type { Pool } from 'pg'
import type { Asset } from '../core/assets.ts'
import { Conflict } from '../core/errors.ts'
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
  const found = new Map(rows.map((row) => [`${row.chain_id} ${row.contract}`, toUnreadable(row)]))
  return (chainId, { contract }) => (contract === null ? null : (found.get(`${chainId} ${contract}`) ?? null))
}

/** @throws Conflict `token_unreadable` */
export type RequireReadable = (chainId: number, asset: Asset) => Promise<void>

/** Refuses operations that need the balance of an unreadable token. */
export function createRequireReadable(pool: Pool): RequireReadable {
  return async (chainId, { contract, symbol }) => {
    if (contract === null) return
    const { rows } = await pool.query<UnreadableRow>({
      name: 'unreadable_token',
      text: `${SELECT} AND chain_id = $1 AND contract = $2`,
      values: [chainId, contract],
    })
    const [row] = rows
    if (row === undefined) return
    const { since, reason, retryAt } = toUnreadable(row)
    throw new Conflict(
      'token_unreadable',
      `The contract of ${symbol} (${contract}) has not been readable since ${since}, so the balance is not known. ` +
        `The next attempt is at ${retryAt}: try again after that time.`,
      { contract_address: contract, since, reason, retry_at: retryAt },
    )
  }
}

function toUnreadable({ since, reason, retry_at }: UnreadableRow): Unreadable {
  return { since: since.toISOString(), reason, retryAt: retry_at.toISOString() }
}
