/** `recovery restore` beside a rotation of the key and beside signers: no seed is left under an old key or replaced. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { rotateKeystoreKeyCommand } from '../../src/compose/rotate-keystore-key.ts'
import { rotateAlone, withoutRotation } from '../../src/key-rotation/require-stopped.ts'
import { openTenantSeeds, restoreSeeds, tenantsWithSeeds } from '../../src/keys/tenant-seeds.ts'
import { runCommandLine } from '../support/cli.ts'
import { withService } from '../support/kit-service.ts'
import { recoveryOf, runRecovery } from '../support/recovery.ts'

const TENANTS = ['acme', 'globex'] as const

/** A kit of two tenants, and keystores that have the seed of another one. */
async function withKit(t: Test) {
  const service = await withService(t)
  for (const tenant of TENANTS) await service.wallet(tenant)
  t.match(await service.backUp(), { code: 0 })
  // A rotation waits for signers that run.
  await service.pool.query('DELETE FROM heartbeats')
  const keystoreOf = async (name: string) => {
    const env = { ...service.env, LOG_LEVEL: 'silent', KEYSTORE_DIR: join(service.directory, name) }
    const opened = () => openKeystore({ config: loadConfig(env), pool: service.pool })
    ;(await (await openTenantSeeds(await opened())).loadOrCreate('zeta')).fill(0)
    const args = ['restore', '--kit', service.kit, '--identity', service.file]
    return {
      directory: env.KEYSTORE_DIR,
      opened,
      restore: () => runRecovery(recoveryOf(env), args),
      rotate: () => runCommandLine([rotateKeystoreKeyCommand(env)], 'keystore rotate-key'),
    }
  }
  return { service, keystoreOf }
}

t.test('a restore and a rotation exclude each other', async (t) => {
  const { service, keystoreOf } = await withKit(t)
  const { restore, rotate, opened } = await keystoreOf('excluded')
  const refused = { code: 1, out: '', err: /^[^\n]*a restore of seeds, is running on this database: wait[^\n]*\n$/ }
  await rotateAlone(service.pool, 'signer', async () => t.match(await restore(), refused))
  t.strictSame(await tenantsWithSeeds((await opened()).keystore), ['zeta'])
  await withoutRotation(service.pool, async () => t.match(await rotate(), refused))
  t.match(await restore(), { code: 0 })
  t.match(await rotate(), { code: 0, out: /^Encrypted 3 secrets/ })
})

t.test('whichever of the two comes first, all seeds are under the key of the keystore', async (t) => {
  const { service, keystoreOf } = await withKit(t)
  const ended = { both: 0, one: 0 }
  for (let round = 1; round <= 8; round += 1) {
    const { restore, rotate, opened } = await keystoreOf(`round-${round}`)
    const runs = await Promise.all(round % 2 === 0 ? [restore(), rotate()] : [rotate(), restore()])
    const good = runs.filter(({ code }) => code === 0).length
    t.ok(good >= 1, runs.map(({ err }) => err).join(''))
    ended[good === 2 ? 'both' : 'one'] += 1
    const { keystore, kek } = await opened()
    t.strictSame(await keystore.kekIds(), [kek.id])
    t.match(await restore(), { code: 0 })
    const seeds = await openTenantSeeds(await opened())
    for (const tenant of TENANTS)
      t.ok(Buffer.from(await seeds.load(tenant)).equals(await service.seeds.load(tenant)), tenant)
  }
  t.comment(`${ended.both} times both ended well, ${ended.one} times one was refused`)
})

t.test('what a killed restore left is removed by the next restore and by a rotation', async (t) => {
  const { keystoreOf } = await withKit(t)
  for (const then of ['restore', 'rotate'] as const) {
    const keystore = await keystoreOf(then)
    const left = join(keystore.directory, `.added-${randomUUID()}.part`)
    await mkdir(left)
    await writeFile(join(left, 'acme.hd-seed.sealed.json'), '{')
    t.match(await keystore[then](), { code: 0 })
    t.strictSame(
      (await readdir(keystore.directory)).filter((name) => name.startsWith('.')),
      [],
    )
  }
})

t.test('a seed that a signer creates at the same moment stays, and the message says what was restored', async (t) => {
  const { service, keystoreOf } = await withKit(t)
  const opened = await (await keystoreOf('overtaken')).opened()
  const seeds = await openTenantSeeds(opened)
  const wanted = new Map<string, Uint8Array>()
  for (const tenant of TENANTS) wanted.set(tenant, await service.seeds.load(tenant))
  let created = Buffer.alloc(0)
  const keystore = {
    ...opened.keystore,
    // Between the check and the write of a restore.
    async createAll(secrets: Parameters<typeof opened.keystore.createAll>[0]) {
      created = Buffer.from(await seeds.loadOrCreate('globex'))
      await opened.keystore.createAll(secrets.filter(({ id }) => id.tenantId === 'acme'))
    },
  }
  await t.rejects(restoreSeeds({ keystore, kek: opened.kek }, wanted), {
    code: 'seed_created',
    message: /a different seed at the same moment, for globex: .* The seeds of these tenants were restored: acme\. /,
  })
  t.ok(created.equals(await seeds.load('globex')))
  t.ok(Buffer.from(await seeds.load('acme')).equals(wanted.get('acme') ?? new Uint8Array()))
})
