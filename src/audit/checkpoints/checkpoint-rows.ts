/** The checkpoints in the database: one for each tree size. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import type { Queryable } from '../chain/log-rows.ts'
import { type Checkpoint, rotationOf } from '../note/checkpoint.ts'

export type CheckpointRow = {
  readonly size: number
  readonly root: Buffer
  readonly note: string
  readonly takenAt: Date
}

export type CheckpointRows = {
  readonly newest: () => Promise<CheckpointRow | null>
  /** Every note, smallest tree first. */
  readonly notes: () => Promise<readonly string[]>
  /** The notes that hand over a key, smallest tree first. */
  readonly rotations: () => Promise<readonly string[]>
  /** Stores a checkpoint. One of the same size is kept, unless the new one hands over the key. */
  readonly keep: (checkpoint: Checkpoint, takenAt: string) => Promise<void>
}

const COLUMNS = 'size, root, note, taken_at'

export function createCheckpointRows(database: Queryable): CheckpointRows {
  const pool = database as Pick<Pool, 'query'>
  async function one(text: string): Promise<CheckpointRow | null> {
    const { rows } = await pool.query<Row<'audit_checkpoints'>>(text)
    const [row] = rows
    if (row === undefined) return null
    const { size, root, note, taken_at: takenAt } = row
    return { size: Number(size), root, note, takenAt }
  }
  return {
    newest: () => one(`SELECT ${COLUMNS} FROM audit_checkpoints ORDER BY size DESC LIMIT 1`),
    async notes() {
      const { rows } = await pool.query<Pick<Row<'audit_checkpoints'>, 'note'>>(
        'SELECT note FROM audit_checkpoints ORDER BY size',
      )
      return rows.map(({ note }) => note)
    },
    async rotations() {
      const { rows } = await pool.query<Pick<Row<'audit_checkpoints'>, 'note'>>(
        `SELECT note FROM audit_checkpoints WHERE strpos(note, E'\\nrotated to ') > 0 ORDER BY size`,
      )
      return rows.map(({ note }) => note)
    },
    async keep({ size, root, note }, takenAt) {
      if (rotationOf(note) !== null) {
        // It describes the same tree, and is signed by the same key and another one.
        const { rowCount } = await pool.query(
          'UPDATE audit_checkpoints SET note = $3, taken_at = $4 WHERE size = $1 AND root = $2',
          [size, root, note, takenAt],
        )
        if (rowCount === 1) return
      }
      await pool.query(
        'INSERT INTO audit_checkpoints (size, root, note, taken_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
        [size, root, note, takenAt],
      )
    },
  }
}
