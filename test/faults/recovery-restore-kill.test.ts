/**
 * `recovery restore`, a process of its own, killed with SIGKILL before each of its writes: all seeds of the kit are in the
 * keystore, or none, and another run restores the rest and removes what the killed one left. For a keystore of files, and for the one in PostgreSQL.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { openTenantSeeds, tenantsWithSeeds } from '../../src/keys/tenant-seeds.ts'
import { type Service, withService } from '../support/kit-service.ts'
import { recoveryOf, runRecovery } from '../support/recovery.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const RECOVERY = fileURLToPath(new URL('../../dist/bin/recovery.js', import.meta.url))
/** The exit code when the database does not answer. */
const UNAVAILABLE = 3
const TENANTS = ['acme', 'globex', 'zeta'] as const
const KEY = randomBytes(32).toString('base64')

/**
 * Loaded before the command: kills the process before step DIE_AT. A step is a change in the file system, or bytes for the
 * database. Another thread may receive the signal, so this one waits for its end.
 */
const KILLER = `
  import fs from 'node:fs/promises'
  import { syncBuiltinESMExports } from 'node:module'
  import { Socket } from 'node:net'
  const dieAt = Number(process.env.DIE_AT)
  let step = 0
  const wrap = (target, name) => {
    const original = target[name]
    target[name] = function (...args) {
      step += 1
      if (step === dieAt) {
        process.kill(process.pid, 'SIGKILL')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      }
      return original.apply(this, args)
    }
  }
  if (process.env.STEPS_OF === 'files') {
    const handle = await fs.open(process.execPath)
    for (const name of ['writeFile', 'sync']) wrap(Object.getPrototypeOf(handle), name)
    await handle.close()
    for (const name of ['open', 'mkdir', 'rename', 'link', 'unlink', 'rm', 'rmdir', 'writeFile']) wrap(fs, name)
    syncBuiltinESMExports()
  } else wrap(Socket.prototype, 'write')
`

type Settings = Readonly<Record<string, string>>

/** Runs the command in a process that dies before a step, unless it ends earlier. */
async function restore(service: Service, env: Settings, dieAt: number) {
  const args = ['restore', '--kit', service.kit, '--identity', service.file]
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(KILLER)}`, RECOVERY, ...args],
    {
      env: { PATH: process.env.PATH, LOG_LEVEL: 'silent', ...env, DIE_AT: String(dieAt) },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const [out, err, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { out, err, code: code as number | null, signal: signal as string | null }
}

async function withKit(t: Test) {
  const service = await withService(t)
  for (const tenant of TENANTS) await service.wallet(tenant)
  t.match(await service.backUp(), { code: 0 })
  const genuine = new Map<string, string>()
  for (const tenant of TENANTS) genuine.set(tenant, Buffer.from(await service.seeds.load(tenant)).toString('hex'))
  return { service, genuine }
}

/**
 * @param keystoreFor the settings of an empty keystore for each run
 * @returns how often no seed was there after the kill, and how often all were
 */
async function killAtEachStep(t: Test, stepsOf: 'files' | 'database', keystoreFor: KeystoreFor) {
  const { service, genuine } = await withKit(t)
  const counted = { none: 0, all: 0, left: 0 }
  let runs = 0
  for (let dieAt = 1; ; ) {
    runs += 1
    const env: Settings = { ...service.env, ...(await keystoreFor(service, runs)) }
    const killed = await restore(service, { ...env, STEPS_OF: stepsOf }, dieAt)
    // On a busy machine a connection may take too long: the same step again.
    if (killed.code === UNAVAILABLE) continue
    if (killed.signal === null) {
      t.match(killed, { code: 0, out: /acme: seed restored\nglobex: seed restored\nzeta: seed restored/ }, killed.err)
      return { counted, dieAt }
    }
    t.equal(killed.signal, 'SIGKILL', killed.err)
    const opened = await openKeystore({ config: loadConfig(env), pool: service.pool })
    const there = await tenantsWithSeeds(opened.keystore)
    t.ok(there.length === 0 || there.length === TENANTS.length, `before step ${dieAt}: ${there.join(' ')}`)
    if (stepsOf === 'files') counted.left += (await leftIn(env.KEYSTORE_DIR)).length
    counted[there.length === 0 ? 'none' : 'all'] += 1
    const again = () => runRecovery(recoveryOf(env), ['restore', '--kit', service.kit, '--identity', service.file])
    const ended = await eventually(async () => {
      const run = await again()
      return run.code === UNAVAILABLE ? null : run
    })
    t.match(ended, { code: 0, err: '' })
    if (stepsOf === 'files') t.strictSame(await leftIn(env.KEYSTORE_DIR), [])
    const seeds = await openTenantSeeds(opened)
    for (const [tenant, seed] of genuine) t.equal(Buffer.from(await seeds.load(tenant)).toString('hex'), seed)
    dieAt += 1
  }
}

/** What a killed run may leave beside the seeds. */
async function leftIn(directory = ''): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('.added-'))
}

type KeystoreFor = (service: Service, run: number) => Promise<Settings>

for (const [what, stepsOf, keystoreFor] of [
  [
    'files',
    'files',
    async (service, run) => ({ KEYSTORE: 'directory', KEYSTORE_DIR: join(service.directory, `lost-${run}`) }),
  ],
  [
    'a table of PostgreSQL',
    'database',
    async (service) => {
      await service.pool.query('DELETE FROM sealed_keys')
      return { KEYSTORE: 'postgres', KEYSTORE_KEY: KEY }
    },
  ],
] as const satisfies readonly (readonly [string, 'files' | 'database', KeystoreFor])[])
  t.test(`a restore into ${what} that is killed before any of its writes: all seeds or none, and again`, async (t) => {
    const { counted, dieAt } = await killAtEachStep(t, stepsOf, keystoreFor)
    t.comment(`${dieAt - 1} kills: ${counted.none} times no seed was there, ${counted.all} times all`)
    t.ok(counted.none > 0 && counted.all > 0, 'kills before and after the commit')
    t.equal(counted.left > 0, stepsOf === 'files', 'folders that the next run removes')
  })
