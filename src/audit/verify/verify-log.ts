/**
 * Verifies the whole log on one snapshot of the database, without changing anything: every stream's hash chain, every leaf of the tree,
 * every checkpoint that was signed. Says of a bad log where it first is not what it was.
 */
import pg from 'pg'
import type { BadEvent } from '../chain/chain-check.ts'
import type { Checkpoint } from '../note/checkpoint.ts'
import { createTileStore, type TreeState } from '../tree/tile-store.ts'
import { checkChains } from './chain-shares.ts'
import { judge, type Verdict } from './judge.ts'
import { verifyTree } from './verify-tree.ts'

/** A checkpoint whose signature is good, and where it was found. */
export type KnownCheckpoint = Checkpoint & { readonly source: string }

export type VerifyLog = (
  checkpoints: (database: Pick<pg.ClientBase, 'query'>) => Promise<readonly KnownCheckpoint[]>,
  watch?: { readonly onStart: (estimate: number) => void; readonly onProgress: (events: number) => void },
) => Promise<Verdict>

/** @param settings.threads that compute hashes; the tree is made beside them */
export function createVerifyLog(settings: { readonly connectionString: string; readonly threads: number }): VerifyLog {
  return async (checkpointsOf, watch) => {
    const client = new pg.Client({
      connectionString: settings.connectionString,
      application_name: 'bursar-audit-verify',
    })
    await client.connect()
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const { snapshot, estimate } = await beginOf(client)
      watch?.onStart(estimate)
      const checkpoints = await checkpointsOf(client)
      const state = await createTileStore(client).state()
      const [chains, tree] = await Promise.all([
        checkChains({ ...settings, snapshot }, watch?.onProgress ?? (() => undefined)),
        verifyTree(
          client,
          checkpoints.map(({ size }) => size),
        ),
      ])
      return judge({ bad: chains.bad, tree, state, checkpoints })
    } finally {
      await client.end()
    }
  }
}

export type Evidence = {
  readonly bad: BadEvent | null
  readonly tree: Awaited<ReturnType<typeof verifyTree>>
  readonly state: TreeState
  readonly checkpoints: readonly KnownCheckpoint[]
}

async function beginOf(client: pg.Client): Promise<{ snapshot: string; estimate: number }> {
  const { rows } = await client.query<{ snapshot: string; estimate: string }>(
    `SELECT pg_export_snapshot() AS snapshot,
            greatest((SELECT reltuples FROM pg_class WHERE oid = 'events'::regclass), (SELECT size FROM audit_tree), 0)::bigint AS estimate`,
  )
  return { snapshot: rows[0]?.snapshot ?? '', estimate: Number(rows[0]?.estimate ?? 0) }
}
