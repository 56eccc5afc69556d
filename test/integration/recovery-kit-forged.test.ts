/** Kits that somebody else wrote or changed: the recipient of a kit is public, so anybody can seal for it. */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { sealTo } from '../../src/keys/age.ts'
import { seedWords } from '../../src/keys/hd-path.ts'
import { openTenantSeeds, tenantsWithSeeds } from '../../src/keys/tenant-seeds.ts'
import type { HdSecrets } from '../../src/recovery/kit/format.ts'
import { writeKit } from '../../src/recovery/kit/kit-directory.ts'
import { kitSigner } from '../../src/recovery/kit/kit-signature.ts'
import { mountSmallDisk } from '../support/full-disk.ts'
import { type Service, withService } from '../support/kit-service.ts'
import { freshKek } from '../support/mpc-processes.ts'
import { OFFLINE, recoveryOf, runRecovery } from '../support/recovery.ts'

const CREATED = '2026-11-26T12:00:00.000Z'

function secretsOf(seeds: Readonly<Record<string, Uint8Array>>, kitId?: string): Buffer {
  const secrets: HdSecrets = {
    format: 'bursar recovery part',
    version: 1,
    part: 'hd',
    ...(kitId === undefined ? {} : { kit_id: kitId }),
    created_at: CREATED,
    seeds: Object.entries(seeds).map(([tenant, entropy]) => ({
      tenant,
      words: seedWords(entropy),
      entropy: Buffer.from(entropy).toString('hex'),
      account_path: "m/44'/60'/0'/0",
    })),
  }
  return Buffer.from(JSON.stringify(secrets))
}

/** A kit of foreign seeds for the recipient of a service, signed by whoever makes it. */
async function forge(service: Service, seeds: Readonly<Record<string, Uint8Array>>, signer = kitSigner(freshKek())) {
  const kitId = randomBytes(16).toString('hex')
  const directory = join(service.directory, `forged-${kitId}`)
  const file = await sealTo([service.recipient], secretsOf(seeds, kitId))
  const parts = [{ name: 'hd', file, recipients: [service.recipient], createdAt: CREATED }]
  await writeKit(directory, { kitId, parts, wallets: [], createdAt: CREATED, signer, trusted: [] }, { force: false })
  return { directory, key: signer.key }
}

/** The same as an earlier version made it: without an id and a signature. */
async function unsign(directory: string, change: (manifest: Record<string, unknown>) => object = (same) => same) {
  const path = join(directory, 'kit.json')
  const { signature: _, kit_id: __, ...rest } = JSON.parse(await readFile(path, 'utf8'))
  await writeFile(path, JSON.stringify(change(rest)))
}

/** Writes other seeds into the part of a kit, with its digest. */
async function reseal(
  service: Service,
  directory: string,
  seeds: Readonly<Record<string, Uint8Array>>,
  kitId?: string,
) {
  const file = await sealTo([service.recipient], secretsOf(seeds, kitId))
  await writeFile(join(directory, 'hd.age'), file)
  const path = join(directory, 'kit.json')
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(/"sha256": ?"[0-9a-f]{64}"/, `"sha256": "${hash('sha256', file)}"`))
}

/** A keystore that lost everything, and its restores. */
function empty(service: Service, name: string, more: NodeJS.ProcessEnv = {}) {
  const env = { ...service.env, KEYSTORE_DIR: join(service.directory, name), ...more }
  const opened = () => openKeystore({ config: loadConfig(env), pool: service.pool })
  return {
    restore: (kit: string, ...args: string[]) =>
      runRecovery(recoveryOf(env), ['restore', '--kit', kit, '--identity', service.file, ...args]),
    tenants: async () => tenantsWithSeeds((await opened()).keystore),
    seeds: async () => openTenantSeeds(await opened()),
    directory: env.KEYSTORE_DIR,
  }
}

t.test('a seed that neither a wallet nor a trusted signature proves is not restored, nor are the others', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const genuine = await service.seeds.load('acme')
  const lost = empty(service, 'lost')
  const { directory, key } = await forge(service, { acme: genuine, zeta: randomBytes(32) })
  const told = new RegExp(`Nothing proves the seed of tenant zeta: .*it is by ${key}`)
  t.match(await lost.restore(directory), { code: 1, out: '', err: told })
  t.strictSame(await lost.tenants(), [])
  const stranger = kitSigner(freshKek()).key
  const wrong = await lost.restore(directory, '--signed-by', stranger)
  t.match(wrong, { code: 1, err: /kit\.json is not signed by a key that --signed-by names/ })
  t.match(await lost.restore(directory, '--signed-by', 'x'), { code: 2, err: /--signed-by must be 64 hex digits/ })
  t.strictSame(await lost.tenants(), [])
  t.match(await lost.restore(directory, '--signed-by', key), {
    code: 0,
    out: /acme: seed restored\nzeta: seed restored/,
  })
  t.ok((await readdir(lost.directory)).every((name) => !name.startsWith('.added')))
})

t.test('a kit that was signed under the key of this keystore needs no other proof', async (t) => {
  const service = await withService(t)
  const KEYSTORE_KEY = randomBytes(32).toString('base64')
  const first = empty(service, 'first', { KEYSTORE_KEY })
  await (await first.seeds()).loadOrCreate('zeta')
  const env = { ...service.env, KEYSTORE_DIR: first.directory, KEYSTORE_KEY }
  const args = ['backup', '--out', service.kit, '--recipient', service.recipient]
  const made = await runRecovery(recoveryOf(env), args)
  t.match(made, { code: 0, out: /Signed by [0-9a-f]{64}\. Keep this key/ })
  t.match(await empty(service, 'other').restore(service.kit), { code: 1, err: /Nothing proves/ })
  t.match(await empty(service, 'same', { KEYSTORE_KEY }).restore(service.kit), { code: 0, out: /zeta: seed restored/ })
})

t.test('a changed manifest, a part of another kit and a removed signature restore nothing', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const { directory } = await forge(service, { acme: await service.seeds.load('acme') })
  const manifest = await readFile(join(directory, 'kit.json'), 'utf8')
  const part = await readFile(join(directory, 'hd.age'))
  const { kit_id: kitId } = JSON.parse(manifest) as { kit_id: string }
  const lost = empty(service, 'lost')
  const cases: readonly [string, () => Promise<unknown>, RegExp][] = [
    [
      'another seed',
      () => reseal(service, directory, { acme: randomBytes(32) }, kitId),
      /was changed since it was signed/,
    ],
    [
      'no signature',
      () => unsign(directory, (rest) => ({ ...rest, kit_id: kitId })),
      /was changed since it was signed/,
    ],
    ['as of an earlier version', () => unsign(directory), /it belongs to another kit than .*kit\.json/],
    [
      'a part of another kit',
      () => reseal(service, directory, { acme: randomBytes(32) }, '0'.repeat(32)).then(() => unsign(directory)),
      /it belongs to another kit/,
    ],
  ]
  for (const [name, spoil, told] of cases) {
    await spoil()
    t.match(await lost.restore(directory, '--force'), { code: 1, out: '', err: told }, name)
    const verified = await runRecovery(OFFLINE, ['verify', '--kit', directory, '--identity', service.file])
    t.equal(verified.code, 1, name)
    await writeFile(join(directory, 'kit.json'), manifest)
    await writeFile(join(directory, 'hd.age'), part)
  }
  t.strictSame(await lost.tenants(), [])
  t.match(await lost.restore(directory), { code: 0 })
})

t.test(
  'nothing is restored from a kit that contradicts the keystore, the database, itself or another kit',
  async (t) => {
    const service = await withService(t)
    await service.wallet()
    await service.wallet('globex')
    const [acme, globex] = [await service.seeds.load('acme'), await service.seeds.load('globex')]
    const { directory } = await forge(service, { acme, globex })
    const busy = empty(service, 'busy')
    await (await busy.seeds()).loadOrCreate('globex')
    t.match(await busy.restore(directory), { code: 1, err: /a different seed of tenant globex.*no seed was restored/ })
    t.strictSame(await busy.tenants(), ['globex'])

    const lost = empty(service, 'lost')
    const swapped = await forge(service, { acme, globex: randomBytes(32) })
    t.match(await lost.restore(swapped.directory, '--signed-by', swapped.key), {
      code: 1,
      err: /The seed of tenant globex in the kit created none of its wallets here/,
    })
    await service.backUp()
    const { wallets } = JSON.parse(await readFile(join(service.kit, 'kit.json'), 'utf8')) as { wallets: object[] }
    await reseal(service, swapped.directory, { acme, globex: randomBytes(32) })
    await unsign(swapped.directory, (rest) => ({ ...rest, wallets }))
    t.match(await lost.restore(swapped.directory, '--force'), {
      code: 1,
      err: /The kit contradicts itself: 0x.* of tenant globex/,
    })
    t.match(await lost.restore(directory, '--kit', swapped.directory, '--force'), {
      code: 1,
      err: /has another seed of tenant globex than/,
    })
    t.strictSame(await lost.tenants(), [])
  },
)

t.test('a kit of an earlier version opens with a warning, and restores what the wallets here prove', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const acme = await service.seeds.load('acme')
  const { directory } = await forge(service, { acme })
  await reseal(service, directory, { acme })
  await unsign(directory)
  const lost = empty(service, 'lost')
  t.match(await lost.restore(directory), { code: 0, out: /acme: seed restored\nNOT PROVED: .*kit\.json is not signed/ })
})

t.test('a backup on a full disk is one line, and the kit that was there stays whole', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const disk = await mountSmallDisk(t, 1)
  if (disk === undefined) {
    t.pass('a full disk', { skip: 'NOT TESTED: mounting a small file system takes root' })
    return
  }
  const kit = join(disk.directory, 'kit')
  const backUp = (...more: string[]) =>
    runRecovery(recoveryOf(service.env), ['backup', '--out', kit, '--recipient', service.recipient, ...more])
  t.equal((await backUp()).code, 0)
  await disk.fill()
  t.match(await backUp('--force'), { code: 1, out: '', err: /^recovery: [^\n]*no space left[^\n]*\n$/ })
  t.strictSame((await readdir(kit)).toSorted(), ['hd.age', 'kit.json'])
  const verified = await runRecovery(OFFLINE, ['verify', '--kit', kit, '--identity', service.file])
  t.match(verified, { code: 0, out: /1 of 1 wallets can be restored/ })
})

t.test('a keystore of an older date makes no kit: the missing tenant is one line', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const KEYSTORE_DIR = join(service.directory, 'older')
  await cp(join(service.directory, 'data', 'keystore'), KEYSTORE_DIR, { recursive: true })
  await service.wallet('globex')
  const older = recoveryOf({ ...service.env, KEYSTORE_DIR })
  const made = await runRecovery(older, ['backup', '--out', service.kit, '--recipient', service.recipient])
  t.match(made, { code: 3, out: '', err: /^recovery: [^\n]*no seed of tenant globex[^\n]*\n$/ })
})

t.test(
  'a restore that was killed after its commit is completed by whoever opens the keystore, before it not at all',
  async (t) => {
    const service = await withService(t)
    const lost = empty(service, 'lost')
    const keys = await lost.seeds()
    await keys.loadOrCreate('acme')
    const here = await keys.load('acme')
    const from = await readdir(lost.directory)
    const file = from.find((name) => name.startsWith('acme.')) ?? ''
    const text = await readFile(join(lost.directory, file), 'utf8')
    for (const [folder, tenants] of [
      [`.added-${randomUUID()}.part`, ['acme']],
      [`.added-${randomUUID()}`, ['acme', 'zeta']],
    ] as const) {
      await mkdir(join(lost.directory, folder))
      await writeFile(join(lost.directory, folder, file.replace('acme', 'zeta')), text)
      await writeFile(join(lost.directory, folder, file), '{}')
      t.strictSame(await lost.tenants(), tenants)
      t.strictSame(await keys.load('acme'), here, 'an existing seed stays')
    }
  },
)
