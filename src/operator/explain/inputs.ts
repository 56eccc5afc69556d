/**
 * The funds of a wallet when a request was accepted, from the log as of then, since they are not recorded with the
 * request. The balance is the follower's last observation; holds are folded from the open transactions.
 */
import type { Pool } from 'pg'
import { upcast } from '../../event-log/aggregate.ts'
import { EVENTS } from '../../event-log/sql.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { holdsOf, transactionAggregate } from '../../transactions/aggregate.ts'
import type { TransactionEvent } from '../../transactions/all-events.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { TransactionState } from '../../transactions/state.ts'

export type FundsThen = {
  readonly assetId: string
  /** Base units; `null` when nothing was observed before. */
  readonly balance: bigint | null
  readonly blockNumber: number | null
  /** Holds of other requests; `null` when there were too many to fold. */
  readonly held: bigint | null
}

/** Open requests of a wallet above which the holds are not folded. */
const MAX_OPEN = 5_000
/** Clock difference of processes: candidates are selected with this margin around the time. */
const CLOCKS_MS = 60_000

export type Moment = {
  readonly walletId: string
  readonly transactionId: string
  readonly position: bigint
  readonly at: Date
}

/** @param assetIds the asset that was sent and the currency of the gas */
export async function readFunds(pool: Pool, moment: Moment, assetIds: readonly string[]): Promise<FundsThen[]> {
  const [balances, held] = await Promise.all([balancesThen(pool, moment, assetIds), heldThen(pool, moment)])
  return assetIds.map((assetId) => {
    const seen = balances.get(assetId)
    return {
      assetId,
      balance: seen?.balance ?? null,
      blockNumber: seen?.blockNumber ?? null,
      held: held === null ? null : (held.get(assetId) ?? 0n),
    }
  })
}

async function balancesThen(
  pool: Pool,
  { walletId, position, at }: Moment,
  assetIds: readonly string[],
): Promise<Map<string, { balance: bigint; blockNumber: number }>> {
  const { rows } = await pool.query<{ asset_id: string; balance: string; block_number: number }>(
    `SELECT wanted.asset_id, e.data->>'balance' AS balance, (e.data->>'blockNumber')::double precision AS block_number
       FROM unnest($2::text[]) AS wanted(asset_id) CROSS JOIN LATERAL
         (SELECT data FROM ${EVENTS} AS events WHERE stream_id = $1 AND type IN ('BalanceChanged', 'BalanceReorged')
             AND data->'asset'->>'assetId' = wanted.asset_id AND recorded_at <= $4 AND position < $3
           ORDER BY recorded_at DESC, stream_version DESC LIMIT 1) AS e`,
    [`balance-${walletId}`, assetIds, position.toString(), new Date(at.getTime() + CLOCKS_MS)],
  )
  return new Map(
    rows.map((row) => [row.asset_id, { balance: BigInt(row.balance), blockNumber: row.block_number }] as const),
  )
}

async function heldThen(
  pool: Pool,
  { walletId, transactionId, position, at }: Moment,
): Promise<Map<string, bigint> | null> {
  const { rows: open } = await pool.query<{ id: Row<'transactions'>['transaction_id'] }>(
    `SELECT transaction_id AS id FROM ${TRANSACTIONS} AS transactions
      WHERE wallet_id = $1 AND transaction_id <> $2 AND created_at <= $3 AND updated_at >= $4 LIMIT ${MAX_OPEN + 1}`,
    [walletId, transactionId, new Date(at.getTime() + CLOCKS_MS), new Date(at.getTime() - CLOCKS_MS)],
  )
  if (open.length > MAX_OPEN) return null
  const { rows } = await pool.query<Pick<Row<'events'>, 'stream_id' | 'type' | 'schema_version' | 'data'>>(
    `SELECT e.stream_id, e.type, e.schema_version, e.data FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
       (SELECT * FROM ${EVENTS} AS events WHERE stream_id = 'transaction-' || wanted.id AND position < $2 ORDER BY stream_version OFFSET 0) AS e`,
    [open.map(({ id }) => id), position.toString()],
  )
  const states = new Map<string, TransactionState>()
  for (const row of rows) {
    const event = upcast<TransactionEvent>(transactionAggregate.schemas, row.type, row.schema_version, row.data)
    const before = states.get(row.stream_id) ?? transactionAggregate.initialState
    states.set(row.stream_id, transactionAggregate.evolve(before, event))
  }
  const held = new Map<string, bigint>()
  for (const state of states.values())
    for (const [assetId, amount] of holdsOf(state)) held.set(assetId, (held.get(assetId) ?? 0n) + amount)
  return held
}
