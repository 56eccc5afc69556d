/**
 * Verifies the whole log on one snapshot of the database, without changing anything: every stream's hash chain, every
 * leaf of the tree, every signed checkpoint, and the rows that money depends on. It never stops at a problem.
 */
import { availableParallelism } from 'node:os'
import pg from 'pg'
import type { AnyAggregate, CheckedModel } from '../../event-log/fold.ts'
import { readSetAside } from '../../event-log/set-aside.ts'
import { createTileStore } from '../tree/tile-store.ts'
import { checkChains } from './chain-shares.ts'
import { checkShare } from './check-share.ts'
import { compareRows } from './compare-rows.ts'
import type { KnownCheckpoint } from './evidence.ts'
import { judge, type LogVerdict } from './judge.ts'
import { verifyTree } from './verify-tree.ts'

/** More threads gain nothing: the database needs CPU too. */
export const DEFAULT_THREADS = Math.min(4, availableParallelism())
/** Number of events below which threads would take longer to start than they save. */
const SMALL_LOG = 50_000

/**
 * @param settings.threads that compute hashes, in addition to the one for the tree; `null` to choose by the size of the
 *   log
 */
export async function verifyLog(
  settings: {
    readonly connectionString: string
    readonly threads: number | null
    /** Read models that are compared with the log. */
    readonly models: readonly CheckedModel[]
    /** Every aggregate whose streams the log holds. */
    readonly aggregates: readonly AnyAggregate[]
  },
  checkpointsOf: (database: Pick<pg.ClientBase, 'query'>) => Promise<readonly KnownCheckpoint[]>,
  watch?: { readonly onStart: (estimate: number) => void; readonly onProgress: (events: number) => void },
): Promise<LogVerdict> {
  const client = new pg.Client({
    connectionString: settings.connectionString,
    application_name: 'bursar-audit-verify',
  })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  try {
    // It is idle while threads compute; it only reads, and delays nobody.
    await client.query('SET idle_in_transaction_session_timeout = 0')
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const { snapshot, estimate } = await beginOf(client)
    watch?.onStart(estimate)
    const checkpoints = await checkpointsOf(client)
    const state = await createTileStore(client).state()
    const setAside = await readSetAside(client)
    const { aggregates } = settings
    const sizes = checkpoints.map(({ size }) => size)
    const onProgress = watch?.onProgress ?? (() => undefined)
    if (settings.threads === null && estimate < SMALL_LOG) {
      const chains = await checkShare(client, { index: 0, of: 1 }, onProgress)
      const evidence = { ...chains, tree: await verifyTree(client, sizes), state, checkpoints, setAside }
      return judge(evidence, await compareRows(client, settings.models, { aggregates, setAside }))
    }
    const threads = settings.threads ?? DEFAULT_THREADS
    const [chains, tree] = await Promise.all([
      checkChains({ connectionString: settings.connectionString, snapshot, threads }, onProgress),
      verifyTree(client, sizes),
    ])
    const rows = await compareRows(client, settings.models, { aggregates, setAside })
    return judge({ ...chains, tree, state, checkpoints, setAside }, rows)
  } finally {
    await client.end()
  }
}

async function beginOf(client: pg.Client): Promise<{ snapshot: string; estimate: number }> {
  const { rows } = await client.query<{ snapshot: string; estimate: string }>(
    `SELECT pg_export_snapshot() AS snapshot,
            greatest(pg_relation_size('events') / 1500, (SELECT reltuples FROM pg_class WHERE oid = 'events'::regclass), (SELECT size FROM audit_tree), 0)::bigint AS estimate`,
  )
  return { snapshot: rows[0]?.snapshot ?? '', estimate: Number(rows[0]?.estimate ?? 0) }
}
