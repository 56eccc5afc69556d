/** Every command on a log and on tables full of hostile text: none of it reaches a terminal raw. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { createApiKeyRows } from '../../src/access/api-key-rows.ts'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { keysProgram } from '../../src/access/keys-program.ts'
import { revokeApiKey } from '../../src/access/revoke-api-key.ts'
import type { CliCommand } from '../../src/cli/command.ts'
import { printFailure, shownText } from '../../src/cli/printed.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { EXPLAINED } from '../../src/compose/capabilities.ts'
import { withKernel } from '../../src/compose/run-command.ts'
import { CATALOGUE, QUEUE_NAMES } from '../../src/declarations.ts'
import type { Jobs } from '../../src/jobs/jobs.ts'
import { jobsProgram } from '../../src/operator/jobs-program.ts'
import type { OperatorContext } from '../../src/operator/operator-context.ts'
import { queuesCommand } from '../../src/operator/queues-command.ts'
import { type CliRun, runCommandLine } from '../support/cli.ts'
import { hostileLog } from '../support/hostile-log.ts'
import { HOSTILE, isForgedOrLong, unprintableIn } from '../support/hostile-text.ts'
import { imported } from '../support/log-file.ts'
import { withDatabase } from '../support/postgres.ts'

/** The database stores no NUL. */
const STORED = HOSTILE.replaceAll('\0', '')
const ACCOUNT = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
/** Columns of text that people, nodes or processes wrote. */
const FREE_TEXT =
  /label|reason|error|problem|holder|instance|process|url|name|symbol|note|text|message|actor|reference|description/

type Stage = {
  readonly pool: Pool
  readonly commands: readonly CliCommand[]
  readonly directory: string
}

async function withHostileLog(t: Test): Promise<Stage> {
  const { pool, url } = await withDatabase(t)
  const { lines, replaced } = hostileLog()
  t.ok(replaced.size >= 12, [...replaced].join(' '))
  await imported(pool, lines)
  await pool.query(`INSERT INTO heartbeats (process, instance, beat_at, problem)
    SELECT name, name || ':1', now(), 'a problem' FROM unnest(ARRAY['api', 'signer', 'submitter', 'auditor']) AS name`)
  await pool.query(`INSERT INTO chain_stalls VALUES (1, 'block 101 names another parent', now() - interval '1 minute')`)
  const directory = t.testdir()
  const env = {
    DATABASE_URL: url,
    SANDBOX: 'true',
    DATA_DIR: directory,
    ETHEREUM_CHAIN_ID: '1',
    ETHEREUM_RPC_URLS: await hostileNode(t),
  }
  return { pool, directory, commands: [...(await bursarCommands(env)), ...keysCommands(env), ...failedJobs()] }
}

/** A node whose every answer is an error with hostile text. */
async function hostileNode(t: Test): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: HOSTILE } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

function keysCommands(env: Readonly<Record<string, string>>): readonly CliCommand[] {
  return keysProgram(
    (task) =>
      withKernel(env, (kernel) =>
        task({
          issueApiKey: createIssueApiKey(kernel),
          revokeApiKey: (...of) => revokeApiKey(kernel, ...of),
          keys: createApiKeyRows(kernel.pool),
          clock: kernel.clock,
        }),
      ),
    CATALOGUE.scopes,
  ).commands
}

async function runIn({ commands }: Stage, line: string): Promise<CliRun> {
  return runCommandLine(commands, line).catch((error: unknown) => {
    const err = new PassThrough()
    printFailure(err, error)
    return { code: -1, out: '', err: String(err.read()) }
  })
}

/** Runs a command for people and for programs. */
async function check(t: Test, stage: Stage, line: string): Promise<CliRun> {
  const name = shownText(line, 80)
  const text = await runIn(stage, line)
  const json = await runIn(stage, `${line} --json`)
  for (const [what, printed] of Object.entries({
    out: text.out,
    err: text.err,
    'JSON out': json.out,
    'JSON err': json.err,
  }))
    t.equal(unprintableIn(printed), null, `${name}: ${what}`)
  for (const printed of [text.out, text.err, json.err])
    t.notOk(isForgedOrLong(printed), `${name}: a field is one short line`)
  for (const each of json.out.split('\n').filter(Boolean)) t.doesNotThrow(() => JSON.parse(each), `${name}: JSON`)
  return text
}

/** Failed jobs with hostile reasons, as both commands show them. */
function failedJobs(): readonly CliCommand[] {
  const counts = Object.fromEntries(
    QUEUE_NAMES.map((name) => [name, { waiting: 1, active: 0, delayed: 0, failed: 1 }]),
  ) as Awaited<ReturnType<Jobs['counts']>>
  const job = { id: `lane-1${HOSTILE}`, attempts: 8, failedAt: 0, addedAt: 0, state: 'waiting', times: 2 }
  const jobs = {
    counts: async () => counts,
    failed: async () => [{ ...job, data: { lane: 'lane-1' }, reason: HOSTILE, at: HOSTILE }],
    oldest: async () => job,
    retry: async () => true,
    retryAll: async () => 1,
  } as unknown as Jobs
  const ports = { jobs, queueBackend: 'PostgreSQL', clock: Date.now } as unknown as OperatorContext
  return [
    ...jobsProgram((task) => task(jobs), QUEUE_NAMES).commands,
    { ...queuesCommand((task) => task(ports)), name: 'failed-queues' },
  ]
}

/** `explain` for each resource of the log that it knows. */
async function explainLines(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT substring(stream_id FROM '[a-z]+_00000000-0000-7000-8000-[0-9]{12}$') AS id FROM events ORDER BY 1`,
  )
  const known: readonly string[] = ['tx', ...EXPLAINED.flatMap(({ prefix }) => prefix ?? [])]
  return rows.flatMap(({ id }) => (id !== null && known.includes(id.split('_')[0] ?? '') ? [`explain ${id}`] : []))
}

/** Appends hostile text to every value of each of these columns that takes it. Returns how many columns did. */
async function poison(pool: Pool, isMeant: (column: string) => boolean): Promise<number> {
  const { rows } = await pool.query<{ table_name: string; column_name: string }>(
    `SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type IN ('text', 'character varying') AND table_name <> 'events'`,
  )
  let changed = 0
  for (const { table_name: table, column_name: column } of rows.filter((row) => isMeant(row.column_name))) {
    const quoted = [table, column].map((name) => JSON.stringify(name))
    const update = `UPDATE ${quoted[0]} SET ${quoted[1]} = ${quoted[1]} || $1`
    // A rule of the table, or an index that takes only short values.
    const set = await pool
      .query(update, [STORED])
      .catch(() => pool.query(update, [STORED.slice(0, 200)]).catch(() => null))
    if ((set?.rowCount ?? 0) > 0) changed += 1
  }
  return changed
}

const READING = [
  'stuck',
  'lanes --all',
  `lane ethereum ${ACCOUNT}`,
  'queues',
  'failed-queues',
  'webhooks',
  'networks',
  'list',
  'failed',
  'counts',
  'replay',
  'replay --diff',
  'audit verify',
  `audit set-aside evt_wallet-x.1 --reason ${STORED.replaceAll(/[ \n]/g, '')}`,
]

t.test('nothing that commands print controls the terminal, and --json parses', async (t) => {
  const stage = await withHostileLog(t)
  const { pool, directory } = stage
  await t.test('text in events', async (t) => {
    const explaining = await explainLines(pool)
    t.ok(explaining.length > 30, `${explaining.length} resources`)
    let quoted = 0
    for (const line of [...READING, ...explaining]) {
      const { out } = await check(t, stage, line)
      if (out.includes('\\u{1b}')) quoted += 1
    }
    t.ok(quoted > 10, `${quoted} commands print such text`)
  })
  await t.test('a proof and an export', async (t) => {
    t.match(await check(t, stage, 'audit checkpoint'), { code: 0 })
    const proof = join(directory, 'event.json')
    const { rows } = await pool.query<{ id: string }>(
      `SELECT stream_id || '.' || stream_version AS id FROM events WHERE type = 'WalletRelabelled' LIMIT 1`,
    )
    t.match(await check(t, stage, `audit prove evt_${rows[0]?.id} --out ${proof}`), { code: 0 })
    t.match(await check(t, stage, `audit check ${proof} --key ${directory}/audit/audit.key.pub`), { code: 0 })
    writeFileSync(proof, HOSTILE)
    t.match(await check(t, stage, `audit check ${proof} --key ${directory}/audit/audit.key.pub`), { code: 1 })
    const file = join(directory, 'log.jsonl')
    for (const header of [
      { format: HOSTILE },
      { format: 'bursar-log', version: HOSTILE },
      { format: 'bursar-log', version: 1, whole: false, tenant: HOSTILE },
    ]) {
      writeFileSync(file, `${JSON.stringify(header)}\n`)
      t.not((await check(t, stage, `import ${file}`)).code, 0)
    }
  })
  await t.test('free text of tables', async (t) => {
    const changed = await poison(pool, (column) => FREE_TEXT.test(column))
    t.ok(changed > 10, `${changed} columns`)
    for (const line of [...READING, ...(await explainLines(pool))]) await check(t, stage, line)
  })
  await t.test('every column of text that can hold it', async (t) => {
    const changed = await poison(pool, () => true)
    t.ok(changed > 40, `${changed} columns`)
    for (const line of READING) await check(t, stage, line)
  })
})
