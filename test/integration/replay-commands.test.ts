/** The operator commands on the log: their output, the exit codes for scripts, and what they do not change. */
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createApiKeyRows } from '../../src/access/api-key-rows.ts'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { makeNoteKey, parseNoteSigner } from '../../src/audit/note/note-keys.ts'
import { composeTakeCheckpoint } from '../../src/compose/auditor.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { applyDatabaseRoles } from '../../src/compose/database-roles/apply-roles.ts'
import { replayCommands } from '../../src/compose/replay-commands.ts'
import { withKernel } from '../../src/compose/run-command.ts'
import { createLogger } from '../../src/logging.ts'
import { runCommandLine } from '../support/cli.ts'
import { roleUrls } from '../support/database-login.ts'
import { readModels } from '../support/log-file.ts'
import { withDatabase } from '../support/postgres.ts'
import { withSomeLog } from '../support/some-log.ts'

async function withCommands(t: Test) {
  const some = await withSomeLog(t)
  const ids = await some.transfer(12)
  const directory = await mkdtemp(join(tmpdir(), 'bursar-replay-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const on = (url: string) => {
    const commands = replayCommands({ DATABASE_URL: url, SANDBOX: 'true', DATA_DIR: directory })
    return (...words: readonly string[]) => runCommandLine(commands, words)
  }
  return { ...some, ids, directory, on, run: on(some.url) }
}

t.test('replay prints what it read, and with --diff what differs, by exit codes too', async (t: Test) => {
  const { run, pool, ids } = await withCommands(t)
  const before = await readModels(pool)
  const whole = await run('replay')
  t.strictSame([whole.code, whole.err], [0, ''])
  t.match(whole.out, /^\d+ events of 14 streams, up to position \d+\n/)
  t.match(whole.out, /transactions +12\n/)
  const same = await run('replay', '--diff')
  t.match(same, { code: 0, out: /No differences/ })
  await pool.query('UPDATE transactions SET amount = 7 WHERE transaction_id = $1', [ids[0]])
  const differs = await run('replay', '--diff')
  t.equal(differs.code, 1)
  t.match(differs.out, `transactions ${ids[0]}: amount is 7, but 1000 in the log\n`)
  const json = await run('replay', '--diff', '--json')
  const [difference, summary] = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(difference, { difference: { table: 'transactions', live: { amount: '7' }, replayed: { amount: '1000' } } })
  t.match(summary, { differences: 1, streams: 14, rows: { transactions: 12 } })
  t.equal(
    (await run('replay', '--diff', '--stream', `transaction-${ids[1]}`)).code,
    0,
    'another stream has no differences',
  )
  t.equal((await run('replay', '--diff', '--stream', `transaction-${ids[0]}`)).code, 1)
  await run('rebuild', 'transactions')
  t.equal((await run('replay', '--diff')).code, 0)
  t.strictSame(await readModels(pool), before)
})

t.test('replay --to stops at the given position', async (t: Test) => {
  const { run, pool } = await withCommands(t)
  const { rows } = await pool.query(
    'SELECT position FROM events ORDER BY events.transaction_id, position OFFSET 4 LIMIT 1',
  )
  t.match(await run('replay', '--to', rows[0].position), { code: 0, out: /^5 events / })
  t.match(await run('replay', '--to', '2025-12-31T23:59:59Z'), { code: 0, out: /transactions +0\n/ })
  t.match(await run('replay', '--to', '2026-01-01T00:00:00.000Z'), { code: 0, out: /wallets +1\n/ })
})

t.test('an invalid command line prints one line, exits with 2, and changes nothing', async (t: Test) => {
  const { run, pool, directory } = await withCommands(t)
  const before = await readModels(pool)
  const file = join(directory, 'there.jsonl')
  await writeFile(file, 'mine')
  const cases: readonly (readonly [words: readonly string[], code: number, line: RegExp])[] = [
    [['replay', '--to', '999999'], 2, /No event has the position 999999: positions go up to \d+/],
    [['replay', '--to', '99999999999999999999'], 2, /--to must be a position/],
    [['replay', '--to', '0'], 2, /--to must be a position/],
    [['replay', '--to', 'yesterday'], 2, /--to must be a position .* yesterday is neither/],
    [['replay', '--to', '2026-01-31T12:00:00'], 2, /with its zone/],
    [['replay', '--to', '2999-01-01T00:00:00Z'], 2, /in the future/],
    [['replay', '--to', '3', '--diff'], 2, /omit --to or --diff/],
    [['replay', '--stream', 'transaction-tx_none'], 2, /no stream transaction-tx_none/],
    [['rebuild'], 2, /needs the name of a read model, or --all/],
    [['rebuild', 'wallets', '--all'], 2, /needs the name of a read model, or --all/],
    [['rebuild', 'walets'], 2, /Unknown read model walets. Use one of: api_keys/],
    [['rebuild', 'sealed_keys'], 2, /sealed_keys does not follow from the log \(sealed secrets/],
    [['export', '--from', '31.1.2026'], 2, /--from must be a position/],
    [['export', '--from', '999999'], 2, /No event has the position/],
    [['export', '--out', file], 2, /already exists/],
    [['import', join(directory, 'none.jsonl')], 2, /none.jsonl/],
    [['import', file], 1, /not empty/],
  ]
  for (const [words, code, line] of cases) {
    const told = await run(...words)
    t.equal(told.code, code, words.join(' '))
    t.match(told.err, line)
    t.equal(told.err.trim().split('\n').length, 1, `the error is one line: ${told.err}`)
  }
  t.strictSame(await readModels(pool), before)
  t.equal(await readFile(file, 'utf8'), 'mine')
})

t.test('an event of a type, version or stream that is not known is named, and nothing is changed', async (t: Test) => {
  const { run, pool } = await withCommands(t)
  const before = await readModels(pool)
  const strange = async (stream: string, type: string, version: number) => {
    await pool.query(
      `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
       VALUES ($1, 1, $2, $3, '{}', '{"tenantId":"acme"}', now(), '')`,
      [stream, type, version],
    )
    const told = [await run('replay'), await run('replay', '--diff'), await run('rebuild', '--all')]
    await pool.query('ALTER TABLE events DISABLE TRIGGER events_append_only')
    await pool.query('DELETE FROM events WHERE stream_id = $1', [stream])
    await pool.query('ALTER TABLE events ENABLE TRIGGER events_append_only')
    return told
  }
  for (const { code, out } of await strange('transaction-tx_x', 'TransferDreamt', 1)) {
    t.equal(code, 1)
    t.match(out, /Event \d+ \(transaction-tx_x, version 1\), TransferDreamt in schema version 1, cannot be read/)
  }
  for (const { code, out } of await strange('transaction-tx_x', 'TransferRequested', 99)) {
    t.equal(code, 1)
    t.match(out, /TransferRequested in schema version 99/)
  }
  for (const { code, out } of await strange('dream-1', 'Dreamt', 1)) {
    t.equal(code, 1)
    t.match(
      out,
      /1 stream ends before a bad event.*Event \d+ \(dream-1, version 1\) belongs to a stream that this version/s,
    )
  }
  t.strictSame(await readModels(pool), before)
  t.equal((await run('replay', '--diff')).code, 0)
})

t.test(
  'a log that is exported into a file is imported from it, and standard output holds the same',
  async (t: Test) => {
    const { run, on, pool, directory } = await withCommands(t)
    const file = join(directory, 'log.jsonl')
    t.match(await run('export', '--out', file), { code: 0, out: /^\d+ events, SHA-256 [0-9a-f]{64}: / })
    const streamed = await run('export')
    t.equal(streamed.out, await readFile(file, 'utf8'))
    t.match(streamed.err, /^\d+ events, SHA-256/)
    const empty = await withDatabase(t)
    t.match(await on(empty.url)('import', file, '--verify'), {
      code: 0,
      out: /events of 14 streams imported, every hash chain checked/,
    })
    t.strictSame(await readModels(empty.pool), await readModels(pool))
    t.match(await on(empty.url)('replay', '--diff'), { code: 0 })
  },
)

t.test('an import is compared with signed checkpoints: a rewritten log is refused', async (t: Test) => {
  const { run, on, pool, directory } = await withCommands(t)
  const checkpointFile = join(directory, 'checkpoints')
  const plan = { isCheckpointFileNamed: true, checkpointIntervalMs: 1_000 }
  const audit = { ...plan, keyFile: join(directory, 'audit.key'), origin: null, checkpointFile }
  const logger = createLogger({ level: 'error', processName: 'test' })
  await (await composeTakeCheckpoint({ pool, clock: Date.now, logger, config: { audit } }))()
  const file = join(directory, 'log.jsonl')
  await run('export', '--out', file)
  const signedBy = ['--checkpoints', audit.checkpointFile, '--key', `${audit.keyFile}.pub`]
  const fresh = await withDatabase(t)
  const into = on(fresh.url)

  // As somebody who hands over the file: changed content, with every hash and digest recomputed to match.
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1)
  const streams = lines.filter((line) => line.includes('"stream_id":"transaction-'))
  const victim = JSON.parse(streams[0] ?? '{}').stream_id
  const cut = lines.filter((line, n) => n === 0 || !line.includes(`"stream_id":"${victim}"`)).slice(0, -1)
  const forged = `${cut.map((line) => `${line}\n`).join('')}`
  const rows = cut.filter((line) => line.startsWith('{"table"')).length
  const footer = { events: cut.length - 1 - rows, rows, sha256: createHash('sha256').update(forged).digest('hex') }
  const forgedFile = join(directory, 'forged.jsonl')
  await writeFile(forgedFile, `${forged}${JSON.stringify(footer)}\n`)
  const refused = await into('import', forgedFile, ...signedBy)
  t.equal(refused.code, 1)
  t.match(
    refused.err,
    /covers \d+ events, but the file has \d+: its last \d+ events are missing|does not match the root/,
  )
  t.equal((await fresh.pool.query('SELECT FROM events')).rowCount, 0, 'the database stays empty')

  for (const [words, message] of [
    [['--checkpoints', audit.checkpointFile], /--checkpoints and --key must be given together/],
    [
      ['--checkpoints', join(directory, 'none'), '--key', `${audit.keyFile}.pub`],
      /--checkpoints: the file .* does not exist/,
    ],
    [['--checkpoints', audit.checkpointFile, '--key', join(directory, 'none')], /--key: the file .* does not exist/],
    [
      ['--checkpoints', file, '--key', `${audit.keyFile}.pub`],
      /has no checkpoint of this log: it is missing, empty or damaged/,
    ],
  ] as const) {
    const { code, err } = await into('import', file, ...words)
    t.equal(code, 2, err)
    t.match(err, message)
  }
  const stranger = makeNoteKey(() => 'bursar.local/stranger')
  const other = await into(
    'import',
    file,
    '--checkpoints',
    audit.checkpointFile,
    '--key',
    parseNoteSigner(stranger)?.encoded ?? '',
  )
  t.equal(other.code, 2)
  t.match(
    other.err,
    /^--checkpoints: .*checkpoints has no checkpoint of this log: nothing in it is signed with the key bursar\.local\/stranger/,
  )

  const unproved = await withDatabase(t)
  t.match(await on(unproved.url)('import', forgedFile), {
    code: 0,
    err: /The origin of this file is not verified/,
  })
  const good = await into('import', file, ...signedBy)
  t.equal(good.code, 0, good.err)
  t.match(good.out, /every hash chain checked/)
  t.match(good.err, /1 signed checkpoints agree with the first \d+ events\.\n$/)
  t.strictSame(await readModels(fresh.pool), await readModels(pool))
})

t.test('the user of the operator suffices for reads, and not for rebuilding tables', async (t: Test) => {
  const some = await withSomeLog(t)
  await some.transfer(3)
  await applyDatabaseRoles(some.pool) // Settings of a whole database are not copied from the template.
  const DATABASE_URL = (await roleUrls(t, some.url))('operator')
  const env = { DATABASE_URL, SANDBOX: 'true', DATA_DIR: t.testdir() }
  const commands = await bursarCommands(env)
  const complaint = async (line: string) => (await runCommandLine(commands, line)).err
  const run = async (line: string) => (await runCommandLine(commands, line)).code
  for (const line of ['replay --diff', 'lanes', 'queues', `export --out ${env.DATA_DIR}/log.jsonl`])
    t.equal(await run(line), 0, line)
  t.equal(await run('stuck'), 1, 'the operator user reads everything that stuck needs')
  await withKernel(env, async (kernel) => {
    const issued = await createIssueApiKey(kernel)({ tenantId: 'acme', environment: 'mainnet' }, { actor: 'operator' })
    t.match(issued.token, /^\S{20,}$/)
    t.match(await createApiKeyRows(kernel.pool).list({ tenantId: 'acme', limit: 5 }), { length: 1 })
  })
  for (const line of ['rebuild wallets', `import ${env.DATA_DIR}/log.jsonl`])
    t.match(await complaint(line), /DATABASE_URL does not own the tables/, line)
})
