/** A log with some history, an auditor, and functions that tamper with the log as a superuser could. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { openAuditKey, PUBLIC_SUFFIX } from '../../src/audit/checkpoints/audit-key.ts'
import { createCheckpointFile } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { createTakeCheckpoint, type TakeCheckpoint } from '../../src/audit/checkpoints/take-checkpoint.ts'
import { verifyCommand } from '../../src/audit/commands/verify-command.ts'
import type { NoteSigner } from '../../src/audit/note/note-keys.ts'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { type CliRun, runCommandLine } from './cli.ts'
import { newTransactionId, seedWallet, transferIntent, withLog } from './log.ts'

export type AuditStage = {
  readonly pool: Pool
  readonly log: EventLog
  readonly url: string
  readonly directory: string
  readonly keyFile: string
  readonly checkpointFile: string
  readonly signer: NoteSigner
  readonly takeCheckpoint: TakeCheckpoint
  /** Runs `audit verify` with these options. */
  readonly verify: (options?: string) => Promise<CliRun>
  /** Runs statements while the log's triggers are off. */
  readonly tamper: (...statements: readonly string[]) => Promise<void>
  /** Appends transfers of three events each; returns their ids. */
  readonly transfers: (count: number, tenantId?: string) => Promise<string[]>
}

const NOW = '2026-01-01T00:00:00.000Z'

export async function withAudit(t: Test): Promise<AuditStage> {
  const { pool, log, url } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  const directory = await mkdtemp(join(tmpdir(), 'bursar-audit-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const keyFile = join(directory, 'audit.key')
  const checkpointFile = join(directory, 'checkpoints')
  const signer = await openAuditKey({ keyFile, origin: 'example.com/test' }, async () => false)
  const takeCheckpoint = createTakeCheckpoint({
    pool,
    signer,
    file: createCheckpointFile(checkpointFile),
    clock: Date.now,
  })
  const command = verifyCommand((task) =>
    task({
      databaseUrl: url,
      publicKeyFile: `${keyFile}${PUBLIC_SUFFIX}`,
      checkpointFile,
      chains: [],
      models: [],
      aggregates: ALL_AGGREGATES,
    }),
  )
  return {
    pool,
    log,
    url,
    directory,
    keyFile,
    checkpointFile,
    signer,
    takeCheckpoint,
    verify: (options = '') => runCommandLine([command], `audit verify ${options}`),
    async tamper(...statements) {
      const client = await pool.connect()
      try {
        await client.query("SET session_replication_role = 'replica'")
        for (const statement of statements) await client.query(statement)
      } finally {
        client.release(true) // Resets the setting.
      }
    },
    transfers: (count, tenantId = 'acme') => appendTransfers(log, count, tenantId),
  }
}

/** Appends transfers of three events each, of which two are public; returns their ids. */
export async function appendTransfers(log: EventLog, count: number, tenantId = 'acme'): Promise<string[]> {
  const ids = Array.from({ length: count }, newTransactionId)
  const context = { metadata: { tenantId, actor: 'test', correlationId: 'ünïcode "quoted" \\ \u0001' }, now: NOW }
  for (const id of ids) {
    const unknown = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
    const opening = {
      type: 'RequestTransaction',
      opening: 'TransferRequested',
      intent: transferIntent({ tenantId, memo: `€ "memo" of ${id}\n` }),
    } as const
    const opened = decideOn(transactionAggregate, unknown, opening, context)
    await log.append({ decisions: opened === null ? [] : [opened] })
    for (const command of [
      { type: 'RequestCancellation', now: NOW },
      { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW },
    ] as const) {
      await log.execute(transactionAggregate, id, command, context)
    }
  }
  return ids
}
