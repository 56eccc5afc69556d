/** The checkpoints in the database: one for each size. */
import type { Pool } from 'pg'
import type { Queryable } from '../chain/log-rows.ts'
import type { Checkpoint } from '../note/checkpoint.ts'

export type CheckpointRow = {
  readonly size: number
  readonly root: Buffer
  readonly note: string
  readonly takenAt: Date
  readonly anchorTransactionId: string | null
}

export type CheckpointRows = {
  readonly newest: () => Promise<CheckpointRow | null>
  /** The oldest one that covers a leaf. */
  readonly firstAbove: (index: number) => Promise<CheckpointRow | null>
  /** Every note, smallest tree first. */
  readonly notes: () => Promise<readonly string[]>
  /** Keeps a checkpoint; one of the same size stays as it is. */
  readonly keep: (checkpoint: Checkpoint, takenAt: string) => Promise<void>
  readonly keepAnchor: (size: number, transactionId: string) => Promise<void>
}

const COLUMNS = 'size, root, note, taken_at, anchor_transaction_id'

export function createCheckpointRows(database: Queryable): CheckpointRows {
  const pool = database as Pick<Pool, 'query'>
  async function one(text: string, values: readonly unknown[] = []): Promise<CheckpointRow | null> {
    const { rows } = await pool.query<Row>(text, [...values])
    const [row] = rows
    if (row === undefined) return null
    const { size, root, note, taken_at: takenAt, anchor_transaction_id: anchorTransactionId } = row
    return { size: Number(size), root, note, takenAt, anchorTransactionId }
  }
  return {
    newest: () => one(`SELECT ${COLUMNS} FROM audit_checkpoints ORDER BY size DESC LIMIT 1`),
    firstAbove: (index) =>
      one(`SELECT ${COLUMNS} FROM audit_checkpoints WHERE size > $1 ORDER BY size LIMIT 1`, [index]),
    async notes() {
      const { rows } = await pool.query<{ note: string }>('SELECT note FROM audit_checkpoints ORDER BY size')
      return rows.map(({ note }) => note)
    },
    async keep({ size, root, note }, takenAt) {
      await pool.query(
        'INSERT INTO audit_checkpoints (size, root, note, taken_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
        [size, root, note, takenAt],
      )
    },
    async keepAnchor(size, transactionId) {
      await pool.query('UPDATE audit_checkpoints SET anchor_transaction_id = $2 WHERE size = $1', [size, transactionId])
    },
  }
}

type Row = {
  readonly size: string
  readonly root: Buffer
  readonly note: string
  readonly taken_at: Date
  readonly anchor_transaction_id: string | null
}
