/**
 * A capability is its folder, one migration, and one line in each of three lists. The test adds one to a copy of the
 * project in this way, and uses it from the request to the replay, with every process on its own database role.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { register } from 'tsx/esm/api'
import type { Block } from '../../src/chain/blocks.ts'
import type * as Capabilities from '../../src/compose/capabilities.ts'
import type { CountedQuota, Opening } from '../../src/core/registry.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import type * as Replay from '../../src/event-log/replay.ts'
import type * as Transactions from '../../src/transactions/aggregate.ts'
import type * as Reads from '../../src/transactions/block-reads.ts'
import type * as Observing from '../../src/transactions/observe-blocks.ts'
import type * as Log from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import type * as Database from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import type * as Service from '../support/service-local.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const notes = join(root, 'test/fixtures/notes')
/** Inside the project's folder, so that packages resolve as they do in the project. */
const copy = t.testdir()

for (const entry of ['src', 'prisma', 'scripts', 'test/support', 'package.json', 'package-lock.json', 'tsconfig.json'])
  cpSync(join(root, entry), join(copy, entry), { recursive: true })
mkdirSync(join(copy, 'src/notes'))
for (const file of readdirSync(notes).filter((name) => name.endsWith('.txt')))
  cpSync(join(notes, file), join(copy, 'src/notes', file.replace(/\.txt$/, '')))
cpSync(join(notes, 'migration.sql'), join(copy, 'prisma/migrations/99990101000000_notes/migration.sql'))
enlist('src/declarations.ts', './notes/declaration.ts', 'const DECLARATIONS: Declared = {')
enlist('src/compose/capabilities.ts', '../notes/capability.ts', 'export const CAPABILITIES_BY_NAME = {')
enlist('src/compose/load-config.ts', '../notes/settings.ts', 'const DECLARED: DeclaredConfig = {', '...notes')

/** The copy is TypeScript, and this test may be a bundle. */
register()

/** Adds the new capability to a list of them, with its import. */
function enlist(file: string, from: string, list: string, entry = 'notes'): void {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  if (!source.includes(list)) throw new Error(`${file} has no list that begins with ${list}`)
  writeFileSync(path, `import { notes } from '${from}'\n${source.replace(list, `${list}\n  ${entry},`)}`)
}

t.test('a note is accepted once, its job is done, and the replay of the log finds the same row', async (t) => {
  const { withDatabase } = (await import(join(copy, 'test/support/postgres.ts'))) as typeof Database
  const { withLocalService } = (await import(join(copy, 'test/support/service-local.ts'))) as typeof Service
  const { url, pool } = await withDatabase(t)
  // No node answers: a note needs none.
  const { api, baseUrl, kernel, workerOf } = await withLocalService(t, {
    databaseUrl: url,
    chainUrl: 'http://127.0.0.1:9',
    chainId: 31_337,
  })
  const request = { method: 'POST', path: '/v1/notes', key: 'note-1', body: { text: 'héllo' } } as const

  const [first, twin] = [await api.insist(request), await api.insist(request)]
  t.equal(first.status, 202)
  t.match(first.body.data.note_id, /^note_/)
  t.equal(twin.body.data.note_id, first.body.data.note_id, 'a repeated request has one effect')
  const read = () => api.insist({ path: `/v1/notes/${first.body.data.note_id}` })
  t.equal(await eventually(async () => (await read()).body.data.length), 5, 'the job ran and appended the outcome')
  const rounds = () => workerOf('dispatcher').metrics.registry.metrics()
  await eventually(async () => /^bursar_notes_seen\{.*\} 1$/m.test(await rounds()))
  matchExactly(t, (await api.insist({ ...request, key: 'note-2', body: {} })).body, { errors: [{ field: 'text' }] })

  const missing = await api.insist({ path: '/v1/notes/note_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11' })
  matchExactly(t, missing.body.errors, [{ type: 'not_found', code: 'note_not_found' }])
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as {
    readonly tags: readonly object[]
    readonly components: { readonly schemas: { readonly ErrorItem: object } }
  }
  t.match(document.tags[1], { name: 'Notes', description: 'Write notes.' }, 'its tag stands where it says')
  t.match(JSON.stringify(document.components.schemas.ErrorItem), /"note_not_found"/)
  const { quotas } = (await api.insist({ path: '/v1/quotas' })).body.data
  t.match(
    quotas.find(({ quota }: { readonly quota: string }) => quota === 'notes_uncounted'),
    { limit: 100 },
    'it has a quota',
  )
  t.match(kernel.config, { noteRoundsMs: 500 }, 'it has a setting')

  const { replay } = (await import(join(copy, 'src/event-log/replay.ts'))) as typeof Replay
  const { LOG_CONTENTS, CAPABILITIES, JUDGED_KINDS, KINDS, usageCounts } = (await import(
    join(copy, 'src/compose/capabilities.ts')
  )) as typeof Capabilities
  const differences: unknown[] = []
  const { rows } = await replay(pool, LOG_CONTENTS, { onDifference: (difference) => differences.push(difference) })
  t.equal((rows as Record<string, number>).notes, 1)
  t.strictSame(differences, [])
  const scrape = async () => (await fetch(`${baseUrl}/metrics`)).text()
  await scrape()
  // The second scrape counts the failures of the first.
  const metrics = await scrape()
  t.match(metrics, /^bursar_notes\{process="api"\} 1$/m)
  t.match(metrics, /^bursar_notes_written_total\{.*outcome="accepted".*\} 1$/m)
  t.match(metrics, /^bursar_notes_written_total\{.*outcome="repeated".*\} 1$/m)
  t.notMatch(metrics, /^bursar_gauge_failures_total\{.*\} [1-9]/m, 'the API role can read what its gauges count')
  for (const { name, read } of CAPABILITIES.flatMap(({ gauges = [] }) => gauges))
    t.type(await read({ pool, clock: Date.now }), Array, name)
  t.ok(KINDS.has('NOTE_PUBLISH'), 'signers have the rule of its transactions')
  t.ok('NotePublishRequested' in JUDGED_KINDS, 'policies judge what its transactions can do')
  t.match(
    usageCounts('notes_uncounted' as CountedQuota).join(),
    'FROM notes',
    'its unfinished work counts towards the quota',
  )
  const { rows: rights } = await pool.query("SELECT role FROM role_rights WHERE 'note:NoteCounted' = ANY (events)")
  t.strictSame(rights, [{ role: 'bursar_submitter' }], 'only the submitter role may append the outcome')
  await opensTransaction(t, pool, kernel.log)
})

/** The declaration names the event that opens a transaction for a note: nothing of transactions changes. */
async function opensTransaction(t: Test, pool: Pool, log: EventLog): Promise<void> {
  const { transactionAggregate } = (await import(join(copy, 'src/transactions/aggregate.ts'))) as typeof Transactions
  const { seedWallet, transferIntent } = (await import(join(copy, 'test/support/log.ts'))) as typeof Log
  const intent = transferIntent({ walletId: 'wal_note', data: '0x', subject: { type: 'note', id: 'note_1' } })
  await seedWallet(pool, { walletId: 'wal_note', balance: 10n ** 18n })
  // Its type is not known to this project, only to the copy.
  const command = { type: 'RequestTransaction', opening: 'NotePublishRequested' as Opening, intent } as const
  await log.execute(transactionAggregate, 'tx_note', command, { metadata: { tenantId: 'acme', actor: 'apikey:k' } })
  const { createBlockReads } = (await import(join(copy, 'src/transactions/block-reads.ts'))) as typeof Reads
  const { observeTransactions } = (await import(join(copy, 'src/transactions/observe-blocks.ts'))) as typeof Observing
  const hash = `0x${'ab'.repeat(32)}`
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce: 0, hash, rawTransaction: '0x02', fees, signedAt: intent.requestedAt }
  const metadata = { tenantId: 'acme', actor: 'worker:signer' }
  await log.execute(transactionAggregate, 'tx_note', { type: 'RecordSignature', signed }, { metadata })
  const entry = { address: `0x${'5f'.repeat(20)}`, topics: ['0x01'], data: '0x02', logIndex: 3 }
  const ports = { reads: createBlockReads(pool), log, kinds: new Map(), revertReason: async () => '' }
  const { decisions } = await observeTransactions(ports, intent.chainId, [blockOf({ ...intent, hash, logs: [entry] })])
  await log.append({ decisions })
  const { rows } = await pool.query('SELECT type, subject_type, logs FROM transactions')
  t.strictSame(rows, [{ type: 'NOTE_PUBLISH', subject_type: 'note', logs: { entries: [entry], cut: false } }])
}

function blockOf(sent: Pick<Block['transactions'][number], 'from' | 'to' | 'hash' | 'logs'>): Block {
  const transaction = {
    ...sent,
    from: sent.from.toLowerCase(),
    nonce: 0,
    value: 0n,
    input: '0x',
    status: 'success',
    gasUsed: 21_000n,
    effectiveGasPrice: 1n,
    offer: null,
    authorizations: [],
    hasBlobs: false,
  } as const
  const place = { number: 5, hash: '0x05', parentHash: '0x04', timestamp: 1_800_000_000, baseFeePerGas: 1n, income: null }
  return { ...place, transactions: [transaction] }
}

t.end()
