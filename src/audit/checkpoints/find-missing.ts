/**
 * Detects that the log lacks events that the auditor has signed: the database was restored to an earlier state, also when
 * the log has grown past the signed size since. For processes that can read the checkpoint file; without the file nothing
 * is detected.
 *
 * Invariant: what is reported was computed from the events themselves, never from stored tiles alone.
 */
import type { Pool } from 'pg'
import type { Context } from '../../context.ts'
import { Conflict, Unavailable } from '../../core/errors.ts'
import type { FindMissing } from '../../restores/watch-restores.ts'
import { type CheckpointHead, originOf, readCheckpointHead } from '../note/checkpoint.ts'
import { createReadTree } from '../tree/read-tree.ts'
import { createTileStore } from '../tree/tile-store.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import { verifyTree } from '../verify/verify-tree.ts'
import { type CheckpointFile, createCheckpointFile } from './checkpoint-file.ts'
import { createCheckpointRows } from './checkpoint-rows.ts'

type MissingCheckpoint = NonNullable<Awaited<ReturnType<FindMissing>>>

/**
 * The result is cached for a start of the database and for the newest checkpoint.
 *
 * @throws Unavailable `log_not_comparable` while a transaction is open that readers of the log wait for; Conflict
 *   `checkpoints_of_another_log` when the file and the database name two logs
 */
export function createFindMissing(pool: Pool, file: Pick<CheckpointFile, 'notes'>): FindMissing {
  let known: { readonly key: string; readonly found: MissingCheckpoint | null } | null = null
  return async (epoch) => {
    const notes = await file.notes()
    const heads = notes.map(readCheckpointHead)
    const newest = heads.at(-1)
    const key = JSON.stringify([epoch, newest])
    if (known?.key !== key) {
      const origin = originOf(notes.at(-1) ?? '')
      known = { key, found: newest === undefined ? null : await compare(pool, heads, { ...newest, origin }) }
    }
    return known.found
  }
}

async function compare(
  pool: Pool,
  heads: readonly CheckpointHead[],
  { origin, ...newest }: CheckpointHead & { readonly origin: string | null },
): Promise<MissingCheckpoint | null> {
  const events = await countUpTo(pool, newest.size)
  if (events >= newest.size && (await storedRoot(pool, newest.size)) === newest.root) return null
  await requireSameLog(pool, origin)
  // Something is wrong: with the log, or with the stored tree.
  const { roots } = await verifyTree(
    pool,
    heads.map(({ size }) => size),
  )
  const isShared = ({ size, root }: CheckpointHead) => roots.get(size)?.toString('hex') === root
  if (isShared(newest)) return null
  if (events >= newest.size && !roots.has(newest.size))
    throw new Unavailable(
      'log_not_comparable',
      'The log cannot be compared with the checkpoints of the auditor while a transaction is open in the database.',
    )
  const shared = Math.max(0, ...heads.filter(isShared).map(({ size }) => size))
  return {
    ...newest,
    reason: reasonFor(events, newest.size),
    precedes: async (streamId, version) => (await placeOf(pool, streamId, version, shared + 1)) <= shared,
  }
}

/**
 * What to warn of: a file that the settings name and that is missing although checkpoints were signed. Without it a restore of
 * the database is not noticed. An operator may have moved it away after a restore, so the process starts.
 */
export async function missingFile({ config: { audit }, pool }: Pick<Context, 'config' | 'pool'>) {
  const { checkpointFile: path, isCheckpointFileNamed } = audit
  if (!isCheckpointFileNamed || (await createCheckpointRows(pool).newest()) === null) return null
  if ((await createCheckpointFile(path).notes()).length > 0) return null
  const message =
    'the file of AUDIT_CHECKPOINT_FILE is missing or has no checkpoint, although checkpoints were signed; without it a restore of the database is not noticed'
  return { path, message }
}

/** A file of another log says nothing about this one. */
async function requireSameLog(pool: Pool, origin: string | null): Promise<void> {
  const kept = originOf((await createCheckpointRows(pool).newest())?.note ?? '')
  if (kept === null || origin === null || kept === origin) return
  throw new Conflict(
    'checkpoints_of_another_log',
    `The file of AUDIT_CHECKPOINT_FILE is of the log ${origin}, but the auditor of this database signs the log ${kept}: ` +
      'this is the database or the file of another installation. Check DATABASE_URL and AUDIT_CHECKPOINT_FILE.',
  )
}

function reasonFor(events: number, signed: number): string {
  const differs =
    events < signed
      ? `the log has ${events} events, but the auditor has signed ${signed}`
      : `the first ${signed} events of the log are not those that the auditor has signed`
  return (
    `${differs}: the database was restored to an earlier state. ` +
    'Nothing is signed until you move the file of AUDIT_CHECKPOINT_FILE away (docs/operations.md, "Backup, restore, failover")'
  )
}

/** The number of events, at most `limit`. */
async function countUpTo(pool: Pool, limit: number): Promise<number> {
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM (SELECT FROM events LIMIT $1) AS first', [
    limit,
  ])
  return Number(rows[0]?.n ?? 0)
}

/** The root of the first events by the stored tree, hex; `null` where the tree does not have it. */
async function storedRoot(pool: Pool, size: number): Promise<string | null> {
  const store = createTileStore(pool)
  if ((await store.state()).size < size) return null
  try {
    return (await createReadTree(store).rootAt(size)).toString('hex')
  } catch (error) {
    if (error instanceof TreeDamaged) return null
    throw error
  }
}

/** The number of events up to this one in reading order, at most `limit`; `limit` for an unknown event. */
async function placeOf(pool: Pool, streamId: string, version: number, limit: number): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(
    `SELECT count(*) AS n FROM (SELECT FROM events WHERE (transaction_id, position) <=
       (SELECT transaction_id, position FROM events WHERE stream_id = $1 AND stream_version = $2) LIMIT $3) AS first`,
    [streamId, version, limit],
  )
  const n = Number(rows[0]?.n ?? 0)
  return n === 0 ? limit : n
}
