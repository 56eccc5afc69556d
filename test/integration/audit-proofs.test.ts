/** Checkpoints and proofs on a real log: by commands, offline, and over HTTP without access to others' events. */

import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openAuditKey, readVerifier } from '../../src/audit/checkpoints/audit-key.ts'
import { createCheckpointFile, notesIn } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { createTakeCheckpoint } from '../../src/audit/checkpoints/take-checkpoint.ts'
import { checkpointCommand } from '../../src/audit/commands/checkpoint-command.ts'
import { checkCommand, proveCommand } from '../../src/audit/commands/proof-commands.ts'
import { openCheckpoint } from '../../src/audit/note/checkpoint.ts'
import { checkProof } from '../../src/audit/proof/check-proof.ts'
import { proveEvent } from '../../src/audit/proof/prove-event.ts'
import { auditRoutes } from '../../src/audit/routes.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { withAudit } from '../support/audit.ts'
import { runCommandLine } from '../support/cli.ts'
import { told } from '../support/client.ts'
import { KEYS, startTestApp } from '../support/http.ts'

const stage = await withAudit(t)
const { pool, keyFile, checkpointFile, signer, takeCheckpoint, transfers, directory } = stage
const publicKey = `${keyFile}.pub`
const { send } = await startTestApp({ routes: auditRoutes({ pool, catalogue: CATALOGUE }) })
const get = (url: string, key: string = KEYS.full) => send({ url, headers: { authorization: `Bearer ${key}` } })
const commands = [
  checkpointCommand((task) =>
    task({ takeCheckpoint, checkpointFile, requestAnchor: () => Promise.reject(new Error('nobody asked')) }),
  ),
  proveCommand((task) => task({ pool, publicKeyFile: publicKey })),
  checkCommand(),
]
const run = (...args: string[]) => runCommandLine(commands, args)

t.test('before the first checkpoint the API and the command report that there is none', async (t) => {
  const [id] = await transfers(1)
  t.strictSame(told(await get('/v1/audit/checkpoint')), ['- checkpoint_not_found'])
  const answer = await get(`/v1/audit/proof/evt_transaction-${id}.1`)
  t.equal(answer.status, 409)
  t.strictSame(told(answer), ['- event_not_signed_yet'])
  const { code, err } = await run('audit', 'prove', `evt_transaction-${id}.1`)
  t.equal(code, 1)
  t.match(err, /^No checkpoint covers this event yet.*\n$/)
})

const mine = await transfers(120)
const theirs = await transfers(20, 'globex')

t.test('a checkpoint is in the file, in the database and in the API, and other programs can read it', async (t) => {
  const { code, out, err } = await run('audit', 'checkpoint')
  t.equal(code, 0, err)
  t.match(openCheckpoint(out, signer), { origin: 'example.com/test', size: 423 })
  t.strictSame(notesIn(await readFile(checkpointFile, 'utf8')), [out])
  t.equal(((await stat(keyFile)).mode & 0o777).toString(8), '600')
  t.match((await get('/v1/audit/checkpoint')).body.data, { note: out, size: 423, origin: 'example.com/test' })
  const again = await run('audit', 'checkpoint', '--json')
  t.match(JSON.parse(again.out), { is_new: false, note: out }, 'an unchanged log gets no new checkpoint')
  t.equal(notesIn(await readFile(checkpointFile, 'utf8')).length, 1)
  const [{ code: together }] = await Promise.all([run('audit', 'checkpoint'), run('audit', 'checkpoint'), transfers(3)])
  t.equal(together, 0)
})

t.test('each event of the log is proved, by its id alone', async (t) => {
  await takeCheckpoint()
  const verifier = await readVerifier(publicKey)
  const places = new Set<number>()
  for (const id of [...mine, ...theirs]) {
    for (const version of [1, 2, 3]) {
      const proof = await proveEvent(pool, `evt_transaction-${id}.${version}`, null)
      const check = checkProof(`${JSON.stringify(proof, null, 2)}\n`, verifier)
      if (!check.ok) t.fail(`${id} ${version} is not proved: ${check.reason}`)
      places.add(proof.leaf_index)
    }
  }
  t.equal(places.size, 420)
})

t.test('a proof is written to a file and checked with nothing but the key', async (t) => {
  const id = `evt_transaction-${mine[70]}.2`
  const file = join(directory, 'one.proof.json')
  t.equal((await run('audit', 'prove', id, '--out', file)).code, 0)
  const good = await run('audit', 'check', file, '--key', publicKey)
  t.equal(good.code, 0, good.err)
  t.ok(good.out.startsWith(`Proved: ${id} (CancellationRequested, `), good.out)
  t.match(good.out, /Trusted key: example\.com\/test\+[0-9a-f]{8}\+\S+\.\n$/)
  t.match(JSON.parse((await run('audit', 'check', file, '--key', publicKey, '--json')).out), { ok: true, event_id: id })
  const unnamed = await run('audit', 'check', file)
  t.equal(unnamed.code, 1, 'the key beside the proof may be of whoever made the proof')
  t.match(
    unnamed.out,
    /^Not proved\. .* is signed by a key that you have not named, that of .*audit\.key\.pub: example\.com\/test\+/,
  )
  t.match(JSON.parse((await run('audit', 'check', file, '--json')).out), {
    ok: false,
    event_id: id,
    reason: /not named/,
  })

  const stranger = await openAuditKey(
    { keyFile: join(directory, 'other.key'), origin: 'example.com/test' },
    async () => false,
  )
  const other = await run('audit', 'check', file, '--key', stranger.encoded)
  t.equal(other.code, 1)
  t.match(other.out, /has no checkpoint signed with the key example\.com\/test\.\n$/)
  await writeFile(file, (await readFile(file, 'utf8')).replace('acme', 'acne'))
  const { code, out } = await run('audit', 'check', file)
  t.equal(code, 1)
  t.match(out, /does not connect the event to the signed root.*\n$/)
})

t.test('wrong usage is one line and exit code 2', async (t) => {
  for (const [args, line] of [
    [['prove', 'nonsense'], /^"nonsense" is not the id of an event: it must be evt_/],
    [['prove', 'evt_wallet-wal_1.1'], /^No such event\.\n$/],
    [['check', join(directory, 'nowhere')], /^The file .*nowhere does not exist\.\n$/],
    [
      ['check', keyFile, '--key', join(directory, 'nowhere')],
      /^The public key .*nowhere does not exist: set --key\.\n$/,
    ],
  ] as const) {
    const { code, err } = await run('audit', ...args)
    t.equal(code, 2, args.join(' '))
    t.match(err, line)
  }
  const { code, out } = await run('audit', 'check', keyFile)
  t.equal(code, 1, 'a file that is not a proof is refused with exit code 1')
  t.match(out, /is not a valid proof\.\n$/)
})

t.test('a tenant reads its own events in order, page by page, and never another one’s', async (t) => {
  const seen: { event_id: string; metadata: { tenantId: string }; stream_id: string }[] = []
  for (let after = ''; ; ) {
    const page = (await get(`/v1/audit/events?limit=100${after}`)).body.data as {
      events: typeof seen
      next_after: string
      has_more: boolean
    }
    seen.push(...page.events)
    if (!page.has_more) break
    after = `&after=${encodeURIComponent(page.next_after)}`
  }
  t.equal(seen.length, 372)
  t.equal(new Set(seen.map(({ event_id }) => event_id)).size, 372)
  t.strictSame([...new Set(seen.map(({ metadata }) => metadata.tenantId))], ['acme'])
  const foreign = `transaction-${theirs[0]}`
  t.strictSame((await get(`/v1/audit/events?stream=${foreign}`)).body.data?.events, [])
  t.equal((await get(`/v1/audit/events?stream=${foreign}`, KEYS.cold)).text.includes('globex'), true)
  t.strictSame(told(await get(`/v1/audit/events?after=evt_${foreign}.1`)), ['after unknown_event'])
  t.strictSame(told(await get(`/v1/audit/proof/evt_${foreign}.1`)), ['- event_not_found'])
  const { events } = (await get('/v1/audit/events?type=TransactionCancelled&limit=1000')).body.data as {
    events: unknown[]
  }
  t.equal(events.length, 124)
})

t.test('the command accepts the proof that the API returns', async (t) => {
  const answer = await get(`/v1/audit/proof/evt_transaction-${mine[5]}.3`)
  t.equal(answer.status, 200, answer.text)
  const check = checkProof(`${JSON.stringify(answer.body.data, null, 2)}\n`, await readVerifier(publicKey))
  t.match(check, { ok: true, proof: { event: { type: 'TransactionCancelled' } } })
})

t.test('bad requests name the field, and a key without the scope is refused', async (t) => {
  t.strictSame(told(await get('/v1/audit/events?limit=0&after=x&stram=y')), [
    'stram unknown_query_parameter',
    'after invalid_id',
    'limit too_small',
  ])
  t.equal((await get('/v1/audit/proof/evt_nothing')).status, 404)
  for (const path of ['events', 'checkpoint', 'proof/evt_wallet-1.1']) {
    t.equal((await get(`/v1/audit/${path}`, KEYS.reader)).status, 403, path)
  }
})

t.test('a missing key is not replaced silently, and a changed name is reported', async (t) => {
  const missing = { keyFile: join(directory, 'gone', 'audit.key'), origin: null }
  await t.rejects(
    openAuditKey(missing, async () => true),
    { code: 'audit_key_missing' },
  )
  await t.rejects(stat(join(directory, 'gone')), { code: 'ENOENT' }, 'no directory was created')
  const made = await openAuditKey(missing, async () => false)
  t.match(made.name, /^bursar\.local\/[0-9a-f]{16}$/)
  t.equal((await openAuditKey(missing, async () => true)).encoded, made.encoded)
  await t.rejects(
    openAuditKey({ keyFile, origin: 'another.name' }, async () => true),
    {
      message: /^AUDIT_ORIGIN must be example\.com\/test/,
    },
  )
  await writeFile(missing.keyFile, 'PRIVATE+KEY+x+00000000+AAAA')
  await t.rejects(
    openAuditKey(missing, async () => true),
    { code: 'audit_key_damaged' },
  )
})

t.test('after a crash in the middle of a note the file is continued', async (t) => {
  const path = join(directory, 'torn')
  const file = createCheckpointFile(path)
  const [note = ''] = await createCheckpointFile(checkpointFile).notes()
  for (let length = 0; length <= note.length; length += 1) {
    await writeFile(path, `${note}\n${note.slice(0, length)}`)
    t.strictSame((await file.notes()).length, 1, `a note cut after ${length} bytes is ignored`)
    if (length % 50 === 0) await file.append(note)
    if (length % 50 === 0) t.strictSame(await file.notes(), [note, note])
  }
})

t.test('an auditor that lost its database continues from the file, and never signs against it', async (t) => {
  const before = await takeCheckpoint()
  await pool.query('DELETE FROM audit_checkpoints')
  t.match(await takeCheckpoint(), { isNew: false, note: before.note })
  t.equal((await pool.query('SELECT FROM audit_checkpoints')).rowCount, 1, 'the checkpoint is in the database again')
  const elsewhere = createTakeCheckpoint({
    pool,
    signer: await openAuditKey(
      { keyFile: join(directory, 'third.key'), origin: 'example.com/third' },
      async () => false,
    ),
    file: createCheckpointFile(join(directory, 'third')),
    clock: Date.now,
  })
  await t.rejects(elsewhere(), { code: 'audit_contradiction' }, 'another key cannot sign the same log')
})
