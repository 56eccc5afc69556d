/**
 * Loads balances without reading their streams, which grow as long as a wallet is used: the read model is their fold,
 * written in the transaction of each append.
 */
import type { Context } from '../context.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import type { Row } from '../event-log/table-rows.ts'
import { balanceAggregate } from './aggregate.ts'
import type { BalanceState, KnownBalance } from './state.ts'

const COLUMNS = ['wallet_id', 'asset_id', 'balance', 'block_number', 'block_hash', 'updated_at'] as const
type BalanceRow = Pick<Row<'balances'>, (typeof COLUMNS)[number]>

/** The balances of each wallet as of the log. */
export type LoadBalances = (walletIds: readonly string[]) => Promise<ReadonlyMap<string, Loaded<BalanceState>>>

/**
 * Invariant: heads are read before rows. If another writer appends in between, the loaded version is too low and the
 * append is refused as a conflict; in the other order it would be decided on old rows and accepted.
 */
export async function loadBalances(
  { pool, log }: Pick<Context, 'pool' | 'log'>,
  walletIds: readonly string[],
): Promise<ReadonlyMap<string, Loaded<BalanceState>>> {
  const ids = [...new Set(walletIds)]
  if (ids.length === 0) return new Map()
  const heads = await log.heads(ids.map((id) => `${balanceAggregate.category}-${id}`))
  const { rows } = await pool.query<BalanceRow>({
    name: 'balances_of_wallets',
    text: `SELECT ${COLUMNS.join(', ')} FROM balances WHERE wallet_id = ANY($1)`,
    values: [ids],
  })
  const states = new Map<string, Record<string, KnownBalance>>(ids.map((id) => [id, {}]))
  for (const row of rows) {
    const state = states.get(row.wallet_id)
    if (state !== undefined) state[row.asset_id] = toKnown(row)
  }
  return new Map(
    ids.map((id, index) => {
      const { version, hash } = heads[index] ?? { version: 0, hash: '' }
      return [id, { id, state: states.get(id) ?? {}, version, hash }]
    }),
  )
}

function toKnown(row: BalanceRow): KnownBalance {
  return {
    balance: row.balance,
    blockNumber: Number(row.block_number),
    blockHash: row.block_hash,
    observedAt: row.updated_at.toISOString(),
  }
}
