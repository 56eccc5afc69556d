/**
 * Rotating a key-encryption key: after a crash at any moment everything opens with the old key or everything with the
 * new one.
 */
import { createHash, randomBytes } from 'node:crypto'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import { decodeKek, type Kek, makeKekText } from '../../src/keys/kek.ts'
import { openKekFile } from '../../src/keys/kek-file.ts'
import { openIdentity } from '../../src/keys/mpc/identity.ts'
import { openShareStore } from '../../src/keys/mpc/share-store.ts'
import { createPostgresKeystore, rotatePostgresKeystore } from '../../src/keys/postgres-keystore.ts'
import { type DirectoryRotation, rotateDirectory } from '../../src/keys/rotate-directory.ts'
import { open, seal } from '../../src/keys/sealed-box.ts'
import { openTenantSeeds, tenantsWithSeeds } from '../../src/keys/tenant-seeds.ts'
import { runCommandLine } from '../support/cli.ts'
import { dyingAt } from '../support/dying-files.ts'
import { temporaryDirectory } from '../support/mpc-processes.ts'
import { withDatabase } from '../support/postgres.ts'

const TENANTS = ['acme', 'beta']
const PARTY = 2
const keyId = 'mpc_0190-key'
const facts = { threshold: 2, parties: 3, publicKey: `0x02${'ab'.repeat(32)}`, address: `0x${'12'.repeat(20)}` }
const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

function kekOf(text: string): Kek {
  const kek = decodeKek(text)
  if (kek === undefined) throw new Error('no key')
  return kek
}

/** Everything that a key opens in a directory, by name; fails at the first that it does not open. */
async function readAll(directory: string, kek: Kek): Promise<Record<string, string>> {
  const keystore = await openDirectoryKeystore(directory)
  const seeds = await openTenantSeeds({ keystore, kek })
  const found: Record<string, string> = {}
  for (const tenant of await tenantsWithSeeds(keystore)) found[tenant] = digest(await seeds.load(tenant))
  const { certificatePem } = await openIdentity({ name: `party-${PARTY}`, keystore, kek })
  found.identity = certificatePem
  const store = await openShareStore({ directory, party: PARTY, kek })
  for (const { generations } of store.list()) {
    for (const generation of generations) found[generation] = digest((await store.load(keyId, generation)).share)
  }
  return found
}

/** A directory with everything that a key seals: seeds, an identity and a share. */
async function filled(t: Test, kekText: string | null) {
  const directory = await temporaryDirectory(t)
  const kek = kekText === null ? await openKekFile(directory) : kekOf(kekText)
  const seeds = await openTenantSeeds({ keystore: await openDirectoryKeystore(directory), kek })
  for (const tenant of TENANTS) await seeds.loadOrCreate(tenant)
  const store = await openShareStore({ directory, party: PARTY, kek })
  await store.prepare(keyId, 'generated', randomBytes(2_000), facts)
  return { directory, kek, secrets: await readAll(directory, kek) }
}

const rotation = (directory: string, from: Kek, toText: string, keyInFile: boolean): DirectoryRotation => ({
  directory,
  from,
  to: kekOf(toText),
  kekText: keyInFile ? toText : null,
  party: PARTY,
  beforeCommit: async () => undefined,
  onProgress: () => undefined,
})

for (const keyInFile of [false, true]) {
  const where = keyInFile ? 'in a file' : 'in the settings'
  t.test(
    `key ${where}: killed before any step, a directory opens as a whole, and a second run completes it`,
    async (t) => {
      const oldText = makeKekText()
      const template = await filled(t, keyInFile ? null : oldText)
      const newText = makeKekText()
      const opened: Record<'old' | 'new', number> = { old: 0, new: 0 }
      for (let dieAt = 1, ended = false; !ended; dieAt += 1) {
        const directory = join(await temporaryDirectory(t), 'copy')
        await cp(template.directory, directory, { recursive: true })
        ended = (await dyingAt(dieAt, () => rotateDirectory(rotation(directory, template.kek, newText, keyInFile))))
          .ended
        const keys = keyInFile ? [await openKekFile(directory)] : [template.kek, kekOf(newText)]
        const works: Kek[] = []
        for (const key of keys) {
          const found = await readAll(directory, key).catch((error: { code?: string }) => error.code)
          if (found === 'keystore_key_wrong') continue
          t.strictSame(found, template.secrets, `killed before step ${dieAt}: no secret is lost`)
          works.push(key)
        }
        t.equal(works.length, 1, `killed before step ${dieAt}: one key opens every secret`)
        opened[works[0]?.id === template.kek.id ? 'old' : 'new'] += 1
        if (keyInFile && works[0]?.id === template.kek.id)
          await rotateDirectory(rotation(directory, template.kek, newText, true))
        if (!keyInFile) await rotateDirectory(rotation(directory, template.kek, newText, false))
        t.strictSame(await readAll(directory, kekOf(newText)), template.secrets)
        if (keyInFile) t.equal((await openKekFile(directory)).id, kekOf(newText).id)
        const rest = (await readdir(directory, { recursive: true })).filter((name) => /rotation|tmp/.test(name))
        t.strictSame(rest, [], 'no copy is left behind')
      }
      t.ok(
        opened.old > 10 && opened.new > 10,
        `the old key opened ${opened.old} times, the new one ${opened.new} times`,
      )
    },
  )
}

t.test('a rotation that the old key does not open, or that is refused at the end, changes nothing', async (t) => {
  const { directory, kek, secrets } = await filled(t, makeKekText())
  const next = makeKekText()
  const plan = rotation(directory, kek, next, false)
  await t.rejects(rotateDirectory({ ...plan, from: kekOf(makeKekText()) }), { code: 'keystore_key_wrong' })
  const refuse = async () => {
    throw new Error('a signer started')
  }
  await t.rejects(rotateDirectory({ ...plan, beforeCommit: refuse }), /a signer started/)
  const keystore = await openDirectoryKeystore(directory)
  const id = { tenantId: 'late', purpose: 'hd-seed' }
  await t.rejects(
    rotateDirectory({
      ...plan,
      beforeCommit: async () => void (await keystore.createOnce(id, seal(kek, id, randomBytes(32)))),
    }),
    { code: 'keystore_changed' },
    'a secret added during the rotation makes it fail',
  )
  t.match(await readAll(directory, kek), secrets)
  const [share = ''] = await readdir(join(directory, 'shares'))
  const path = join(directory, 'shares', share)
  const good = await readFile(path)
  await writeFile(path, good.subarray(0, -1))
  await t.rejects(rotateDirectory(plan), { code: 'sealed_secret_damaged' })
  await writeFile(path, good)
  t.equal(await rotateDirectory(plan), 5)
  t.equal(await rotateDirectory(plan), 0, 'a second rotation re-encrypts nothing')
})

t.test('a signer that still has the old key makes no seed under it, and goes on signing with its seeds', async (t) => {
  const { pool } = await withDatabase(t)
  const directory = await temporaryDirectory(t)
  const [from, toText] = [kekOf(makeKekText()), makeKekText()]
  const to = kekOf(toText)
  const kinds = {
    directory: {
      keystore: await openDirectoryKeystore(directory),
      rotate: () => rotateDirectory({ ...rotation(directory, from, toText, false), party: null }),
    },
    PostgreSQL: {
      keystore: createPostgresKeystore(pool),
      rotate: () => rotatePostgresKeystore(pool, { from, to, beforeCommit: async () => undefined }),
    },
  }
  for (const [kind, { keystore, rotate }] of Object.entries(kinds)) {
    const stale = createHdSigner({ seeds: await openTenantSeeds({ keystore, kek: from }) })
    const key = { kind: 'hd', tenantId: 'acme', index: 0 } as const
    const { address } = await stale.createKey(key)
    t.equal(await rotate(), 1, kind)
    await t.rejects(
      stale.createKey({ ...key, tenantId: 'fresh' }),
      { code: 'keystore_key_wrong', retryable: true },
      kind,
    )
    t.strictSame(await keystore.list(), [{ tenantId: 'acme', purpose: 'hd-seed' }], `${kind}: no seed is created`)
    t.equal((await stale.createKey(key)).address, address)
    const restarted = createHdSigner({ seeds: await openTenantSeeds({ keystore, kek: to }) })
    t.equal((await restarted.createKey(key)).address, address, kind)
    t.ok(await restarted.createKey({ ...key, tenantId: 'fresh' }))
    await t.rejects(openTenantSeeds({ keystore, kek: from }), { code: 'keystore_key_wrong' }, kind)
  }
})

t.test(
  'PostgreSQL: a rotation that dies leaves the old key, and a seed made meanwhile waits and is refused',
  async (t) => {
    const { pool } = await withDatabase(t)
    pool.on('connect', (client) => client.on('error', () => undefined)) // As in the pool of a process.
    const keystore = createPostgresKeystore(pool)
    const [from, to] = [kekOf(makeKekText()), kekOf(makeKekText())]
    const seeds = await openTenantSeeds({ keystore, kek: from })
    const before = await Promise.all(TENANTS.map(async (tenant) => digest(await seeds.loadOrCreate(tenant))))
    const killed = rotatePostgresKeystore(pool, {
      from,
      to,
      beforeCommit: async () => {
        for (let ended = 0; ended === 0; ) {
          const { rowCount } = await pool.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
          )
          ended = rowCount ?? 0
        }
      },
    })
    await t.rejects(killed)
    t.strictSame(await Promise.all(TENANTS.map(async (tenant) => digest(await seeds.load(tenant)))), before)
    const late: Promise<unknown>[] = []
    const rotated = await rotatePostgresKeystore(pool, {
      from,
      to,
      beforeCommit: async () => {
        t.equal(digest(await seeds.load('acme')), before[0], 'seeds stay readable during the rotation')
        late.push(seeds.loadOrCreate('late').catch((error: { code: string }) => error.code))
        for (;;) {
          const { rows } = await pool.query('SELECT FROM pg_locks WHERE NOT granted')
          if (rows.length > 0) return
        }
      },
    })
    t.equal(rotated, 2)
    t.strictSame(await Promise.all(late), ['keystore_key_wrong'])
    const id = { tenantId: 'acme', purpose: 'hd-seed' }
    const envelope = await keystore.read(id)
    t.equal(envelope && digest(open(to, id, envelope)), before[0])
    const after = await openTenantSeeds({ keystore, kek: to })
    t.strictSame(await Promise.all(TENANTS.map(async (tenant) => digest(await after.load(tenant)))), before)
  },
)

t.test('the command refuses while a process holds the key, names the problem, and does nothing twice', async (t) => {
  const { pool, url } = await withDatabase(t)
  const oldText = makeKekText()
  const { directory, kek, secrets } = await filled(t, oldText)
  const file = join(await temporaryDirectory(t), 'new.key')
  const newText = makeKekText()
  await writeFile(file, `${newText}\n`)
  const party = { MPC_PARTY: `${PARTY}`, MPC_PARTY_DIR: directory, MPC_PARTY_KEY: oldText }
  const run = async (env: Record<string, string>, line: string) =>
    runCommandLine(await bursarCommands({ DATABASE_URL: url, ...env }), line)
  const beat = (process: string) =>
    pool.query('INSERT INTO heartbeats (process, instance, beat_at) VALUES ($1, $2, now())', [process, 'host:7'])

  await beat(`mpc-party-${PARTY}`)
  const running = await run(party, `mpc rotate-key --new-key ${file}`)
  t.equal(running.code, 1)
  t.match(running.err, /^mpc-party-2 is running as host:7 \(last heartbeat \d+ s ago\).*stop every mpc-party-2/)
  t.strictSame(await readAll(directory, kek), secrets)
  await pool.query('DELETE FROM heartbeats')
  await beat('mpc-party-1')
  for (const [env, line, message] of [
    [party, 'mpc rotate-key', /--new-key must name a file.*MPC_PARTY_KEY contains the old key/],
    [party, 'mpc rotate-key --new-key /nowhere', /the file \/nowhere does not exist/],
    [party, `mpc rotate-key --new-key ${directory}/party-2.mpc-identity.sealed.json`, /32 bytes in base64/],
    [{ ...party, MPC_PARTY_KEY: newText }, `mpc rotate-key --new-key ${file}`, /the key that is already in use/],
    [{}, `mpc rotate-key --new-key ${file}`, /^MPC_PARTY must be set/],
    [{ KEYSTORE_DIR: join(directory, 'none') }, 'keystore rotate-key', /^The directory .* does not exist/],
  ] as const) {
    const { code, err } = await run(env, line)
    t.equal(code, 2, line)
    t.match(err, message)
    t.notMatch(err, newText)
  }
  const wrong = await run({ ...party, MPC_PARTY_KEY: makeKekText() }, `mpc rotate-key --new-key ${file}`)
  t.equal(wrong.code, 3, wrong.err)
  const done = await run(party, `mpc rotate-key --new-key ${file} --json`)
  t.strictSame(JSON.parse(done.out), { secrets: 4, key_id: kekOf(newText).id, completed_earlier: false }, done.err)
  t.strictSame(await readAll(directory, kekOf(newText)), secrets)
  const again = await run(party, `mpc rotate-key --new-key ${file}`)
  t.equal(again.code, 0)
  t.match(again.out, /^All secrets are already encrypted with key [0-9a-f]{16}\. Set MPC_PARTY_KEY to the new key/)
})

t.test('the keystore of the signers is rotated by its command, in a directory and in PostgreSQL', async (t) => {
  const { pool, url } = await withDatabase(t)
  const { directory, secrets } = await filled(t, null)
  await rm(join(directory, 'shares'), { recursive: true })
  const run = async (env: Record<string, string>, line: string) =>
    runCommandLine(await bursarCommands({ DATABASE_URL: url, ...env }), line)
  const before = await openKekFile(directory)
  const { code, out } = await run({ KEYSTORE_DIR: directory }, 'keystore rotate-key')
  t.equal(code, 0)
  t.match(out, /^Encrypted 3 secrets with key [0-9a-f]{16}\. The new key is in the file kek/)
  const after = await openKekFile(directory)
  t.not(after.id, before.id, 'the new key is in the file of the old key')
  t.match(secrets, await readAll(directory, after))

  const [oldText, newText] = [makeKekText(), makeKekText()]
  const keystore = createPostgresKeystore(pool)
  const seeds = await openTenantSeeds({ keystore, kek: kekOf(oldText) })
  const seed = digest(await seeds.loadOrCreate('acme'))
  const file = join(directory, 'new.key')
  await writeFile(file, newText)
  const settings = { KEYSTORE: 'postgres', KEYSTORE_KEY: oldText }
  const rotated = await run(settings, `keystore rotate-key --new-key ${file} --json`)
  t.match(JSON.parse(rotated.out), { secrets: 1, key_id: kekOf(newText).id })
  t.equal(digest(await (await openTenantSeeds({ keystore, kek: kekOf(newText) })).load('acme')), seed)
})
