/** An API process that others reach without TLS warns once at its start, with what answers without a key. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { freePort } from '../../src/sandbox/ports.ts'
import { TAG_KEY } from '../support/config.ts'
import { withDatabase } from '../support/postgres.ts'

const API = fileURLToPath(new URL('../../dist/bin/api.js', import.meta.url))

/** The warnings of a process until it has started, and the paths on its port. */
async function started(t: Test, settings: Readonly<Record<string, string>>) {
  const { url } = await withDatabase(t)
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: url,
    PORT: String(port),
    TRANSACTION_TAG_KEY: TAG_KEY,
    ...settings,
  }
  const child = spawn(process.execPath, [API], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const warnings: Record<string, unknown>[] = []
  await new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as Record<string, unknown>
      if ('without_key' in said) warnings.push(said)
      if (said.message === 'started') resolve()
    })
  })
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  return { warnings, statusOf }
}

t.test(
  'an address that others reach: told, with paths that do answer without a key, and /metrics does not',
  async (t) => {
    const { warnings, statusOf } = await started(t, { HOST: '0.0.0.0' })
    t.equal(warnings.length, 1)
    const paths = (warnings[0]?.without_key ?? []) as readonly string[]
    t.match(warnings[0], { host: '0.0.0.0', message: /reachable without TLS.*TRUSTED_PROXIES/ })
    for (const path of paths) t.not(await statusOf(path), 401, path)
    t.equal(await statusOf('/metrics'), 404)
    t.equal(await statusOf('/v1/wallets'), 401)
  },
)

t.test('on loopback nothing is told, and /metrics answers', async (t) => {
  const { warnings, statusOf } = await started(t, {})
  t.strictSame(warnings, [])
  t.equal(await statusOf('/metrics'), 200)
})
