/**
 * Detects that the log has fewer events than the auditor has signed: the database was restored to an earlier state. For
 * processes that can read the checkpoint file; without the file nothing is detected.
 */
import type { Pool } from 'pg'
import { readCheckpointSize } from '../note/checkpoint.ts'
import type { CheckpointFile } from './checkpoint-file.ts'

/**
 * @param epoch identifies a start of the database; the result is cached for it
 * @returns why nothing may be signed on this log; `null` when it has all signed events
 */
export type RefuseShortLog = (epoch: string) => Promise<string | null>

export function createRefuseShortLog(pool: Pool, file: Pick<CheckpointFile, 'notes'>): RefuseShortLog {
  let sound: string | null = null
  return async (epoch) => {
    if (epoch === sound) return null
    const newest = (await file.notes()).at(-1)
    const size = newest === undefined ? 0 : readCheckpointSize(newest)
    const { rows } = await pool.query<{ n: string }>(
      'SELECT count(*) AS n FROM (SELECT FROM events LIMIT $1) AS first',
      [size],
    )
    const n = Number(rows[0]?.n ?? 0)
    if (n >= size) {
      sound = epoch
      return null
    }
    return (
      `the log has ${n} events, but the auditor has signed ${size}: the database was restored to an earlier state. ` +
      'Nothing is signed until you move the file of AUDIT_CHECKPOINT_FILE away (docs/operations.md, "Backup, restore, failover")'
    )
  }
}
