/** Both keystores have the same guarantees: a secret is created once, also under concurrency, and never overwritten. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { parseKek } from '../../src/keys/kek.ts'
import { openKekFile } from '../../src/keys/kek-file.ts'
import type { Keystore } from '../../src/keys/keystore.ts'
import { createPostgresKeystore } from '../../src/keys/postgres-keystore.ts'
import { seal } from '../../src/keys/sealed-box.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import { withDatabase } from '../support/postgres.ts'

const run = promisify(execFile)
const OPEN_SEED = fileURLToPath(new URL('../support/open-seed.ts', import.meta.url))
const freshKek = () => parseKek(randomBytes(32).toString('base64'))
const id = { tenantId: 'acme', purpose: 'hd-seed' }

async function directoryFor(t: Test): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'bursar-keystore-'))
  t.after(() => rm(parent, { recursive: true, force: true }))
  return join(parent, 'not', 'there', 'yet')
}

type Opened = { keystore: Keystore; racerArguments: string[]; damage: () => Promise<unknown> }
const kinds: Record<string, (t: Test) => Promise<Opened>> = {
  directory: async (t) => {
    const directory = await directoryFor(t)
    const path = join(directory, 'acme.hd-seed.sealed.json')
    return {
      keystore: await openDirectoryKeystore(directory),
      racerArguments: [directory],
      damage: async () => writeFile(path, (await readFile(path, 'utf8')).slice(0, -1)),
    }
  },
  PostgreSQL: async (t) => {
    const { pool, url } = await withDatabase(t)
    return {
      keystore: createPostgresKeystore(pool),
      racerArguments: [await directoryFor(t), url],
      damage: () => pool.query(`UPDATE sealed_keys SET envelope = envelope - 'tag'`),
    }
  },
}

for (const [kind, openKind] of Object.entries(kinds)) {
  t.test(`${kind}: the first envelope stays, and later callers get it`, async (t) => {
    const { keystore } = await openKind(t)
    const kek = freshKek()
    t.equal(await keystore.read(id), undefined)
    const offers = Array.from({ length: 20 }, () => seal(kek, id, randomBytes(32)))
    const stored = await Promise.all(offers.map((envelope) => keystore.createOnce(id, envelope)))
    t.equal(new Set(stored.map((envelope) => envelope.nonce)).size, 1)
    t.strictSame(await keystore.createOnce(id, seal(kek, id, randomBytes(32))), stored[0])
    t.strictSame(await keystore.read(id), stored[0])
    t.strictSame(await keystore.list(), [id])
    t.equal(await keystore.read({ ...id, tenantId: 'other' }), undefined)
  })

  t.test(`${kind}: many secrets are created together or not at all`, async (t) => {
    const { keystore } = await openKind(t)
    const kek = freshKek()
    const secret = (tenantId: string, key = kek) => {
      const named = { ...id, tenantId }
      return { id: named, envelope: seal(key, named, randomBytes(32)) }
    }
    const there = secret('globex')
    await keystore.createAll([there])
    await t.rejects(keystore.createAll([secret('acme'), secret('globex'), secret('zeta')]), { code: 'secret_exists' })
    t.strictSame(await keystore.list(), [there.id])
    t.strictSame(await keystore.read(there.id), there.envelope)
    await t.rejects(keystore.createAll([secret('acme', freshKek())]), 'under another key than the others')
    t.strictSame(await keystore.list(), [there.id])
    await keystore.createAll([secret('acme'), secret('zeta')])
    t.strictSame(
      (await keystore.list()).map(({ tenantId }) => tenantId),
      ['acme', 'globex', 'zeta'],
    )
  })

  t.test(`${kind}: signer processes that start at once share one seed and one key`, async (t) => {
    const { racerArguments, keystore } = await openKind(t)
    const [directory = '', ...rest] = racerArguments
    const startAt = Date.now() + 4_000
    const racers = Array.from({ length: 4 }, () =>
      run(process.execPath, ['--import', 'tsx', OPEN_SEED, directory, 'acme', `${startAt}`, ...rest]),
    )
    const printed = (await Promise.all(racers)).map(({ stdout }) => stdout)
    t.match(printed[0], /^[0-9a-f]{16} [0-9a-f]{64}$/)
    t.equal(new Set(printed).size, 1)
    t.equal((await keystore.list()).length, 1)
    t.notOk((await readdir(directory)).some((name) => name.endsWith('.tmp')))
  })

  t.test(`${kind}: under another key nothing opens and nothing is made`, async (t) => {
    const { keystore } = await openKind(t)
    const seeds = await openTenantSeeds({ keystore, kek: freshKek() })
    await seeds.loadOrCreate('acme')
    const before = await keystore.read(id)
    await t.rejects(openTenantSeeds({ keystore, kek: freshKek() }), {
      code: 'keystore_key_wrong',
      message: /KEYSTORE_KEY/,
    })
    t.strictSame(await keystore.read(id), before)
    await t.rejects(seeds.load('nobody'), { code: 'seed_missing', retryable: true })
    t.strictSame(await keystore.list(), [id])
  })

  t.test(`${kind}: a damaged envelope is refused and left as it is, and other tenants go on`, async (t) => {
    const { keystore, damage } = await openKind(t)
    const kek = freshKek()
    await (await openTenantSeeds({ keystore, kek })).loadOrCreate('acme')
    await damage()
    const seeds = await openTenantSeeds({ keystore, kek })
    t.equal((await seeds.loadOrCreate('beta')).length, 32)
    await t.rejects(seeds.load('acme'), { code: 'sealed_secret_damaged' })
    await t.rejects(seeds.loadOrCreate('acme'), { code: 'sealed_secret_damaged' })
  })
}

t.test('only the owner reads the directory, the key and the sealed files, even where they were wider', async (t) => {
  const directory = await directoryFor(t)
  const mode = async (path: string) => (await stat(path)).mode & 0o777
  const first = await openKekFile(directory)
  const keystore = await openDirectoryKeystore(directory)
  await (await openTenantSeeds({ keystore, kek: first })).loadOrCreate('acme')
  t.strictSame((await readdir(directory)).sort(), ['acme.hd-seed.sealed.json', 'kek'])
  for (const name of await readdir(directory)) t.equal(await mode(join(directory, name)), 0o600, name)
  await chmod(directory, 0o755)
  await chmod(join(directory, 'kek'), 0o644)
  t.equal((await openKekFile(directory)).id, first.id)
  t.equal(await mode(directory), 0o700)
  t.equal(await mode(join(directory, 'kek')), 0o600)
})

t.test('a lost or damaged key file stops the start, and no new key is made beside sealed secrets', async (t) => {
  const directory = await directoryFor(t)
  const path = join(directory, 'kek')
  const kek = await openKekFile(directory)
  await (await openTenantSeeds({ keystore: await openDirectoryKeystore(directory), kek })).loadOrCreate('acme')
  const good = await readFile(path, 'utf8')
  await writeFile(path, good.slice(0, 20))
  await t.rejects(openKekFile(directory), { code: 'keystore_key_damaged', message: /restore/ })
  await rm(path)
  await t.rejects(openKekFile(directory), { code: 'keystore_key_missing', message: /KEYSTORE_KEY/ })
  t.notOk((await readdir(directory)).includes('kek'))
  await writeFile(path, good, { mode: 0o600 })
  t.equal((await openKekFile(directory)).id, kek.id)
})

t.test('a name that could leave the directory never reaches the file system', async (t) => {
  const keystore = await openDirectoryKeystore(await directoryFor(t))
  for (const tenantId of ['../acme', 'a/b', 'a.b', '', 'Acme', 'a\0', 'a'.repeat(64)]) {
    await t.rejects(keystore.read({ ...id, tenantId }), RangeError)
  }
  await t.rejects(keystore.read({ ...id, purpose: '../x' }), RangeError)
})
