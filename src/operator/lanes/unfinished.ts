/** The pending transactions of one lane with their current bytes. Read only. */
import type { Pool } from 'pg'
import type { EventLog } from '../../event-log/log.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { Lane } from '../../transactions/lanes.ts'
import { isUnmined, TRANSACTIONS } from '../../transactions/sql.ts'
import { newestAttempt } from '../../transactions/state.ts'

/** For a lane shown in full; the counts cover the rest. */
const MAX_SHOWN = 200

export type Unfinished = {
  readonly id: string
  readonly state: string
  /** Time in that state, ms. */
  readonly forMs: number
  readonly dependsOn: string | null
  readonly nonce: number | null
  readonly hash: string | null
  readonly purpose: string | null
  /** Number of versions signed for the nonce. */
  readonly bytes: number
  /** Wei per gas. */
  readonly maxFeePerGas: bigint | null
  readonly maxPriorityFeePerGas: bigint | null
}

/** By nonce, then those without a nonce in order of acceptance. */
export async function readUnfinished(
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'loadMany'> },
  { chainId, address }: Lane,
): Promise<Unfinished[]> {
  const { rows } = await pool.query<
    Pick<Row<'transactions'>, 'state' | 'depends_on'> & { id: Row<'transactions'>['transaction_id']; for_ms: number }
  >({
    name: 'operator_unfinished',
    text: `SELECT transaction_id AS id, state, depends_on,
                  extract(epoch FROM clock_timestamp() - updated_at)::double precision * 1000 AS for_ms
             FROM ${TRANSACTIONS} AS transactions WHERE chain_id = $1 AND from_address = $2
              AND ${isUnmined('transactions')}
            ORDER BY nonce NULLS LAST, transaction_id LIMIT ${MAX_SHOWN}`,
    values: [chainId, address],
  })
  const loaded = await log.loadMany(
    transactionAggregate,
    rows.map(({ id }) => id),
  )
  return rows.map(({ id, state, depends_on: dependsOn, for_ms: forMs }, index) => {
    const known = loaded[index]?.state
    const newest = known === undefined || known.state === 'unknown' ? null : newestAttempt(known)
    return {
      id,
      state,
      forMs,
      dependsOn,
      nonce: newest?.nonce ?? null,
      hash: newest?.hash ?? null,
      purpose: newest?.purpose ?? null,
      bytes: known === undefined || known.state === 'unknown' ? 0 : known.attempts.length,
      maxFeePerGas: newest?.fees.maxFeePerGas ?? null,
      maxPriorityFeePerGas: newest?.fees.maxPriorityFeePerGas ?? null,
    }
  })
}
