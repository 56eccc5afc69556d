/** A process that logs `fatal` ends, or reports in `stuck` what it cannot do. */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startAuditor } from '../../src/compose/auditor.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { withAudit } from '../support/audit.ts'
import { keptLog } from '../support/kept-log.ts'
import { withDatabase } from '../support/postgres.ts'
import { runScriptToItsEnd, runToItsEnd } from '../support/run-program.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { runWorker } from '../support/service-local.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Every place that logs `fatal`: each has a test below. */
const FATAL = ['src/audit/checkpoints/open-take-checkpoint.ts', 'src/compose/auditor.ts', 'src/compose/run-process.ts']

t.test('every place that logs fatal is tested here', async (t) => {
  const files = ['src', 'workers'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  )
  const found = files.filter((file) => file.endsWith('.ts') && /\.fatal\(/.test(readFileSync(join(ROOT, file), 'utf8')))
  t.strictSame(found.toSorted(), FATAL)
})

t.test('an unhandled rejection ends the process with exit code 1', async (t) => {
  const { url } = await withDatabase(t)
  const runProcess = JSON.stringify(new URL('../../dist/src/compose/run-process.js', import.meta.url).href)
  const script = `const { runProcess } = await import(${runProcess})
    await runProcess('submitter', async () => {
      setImmediate(() => void Promise.reject(new Error('nobody handles this')))
      return { drain: async () => undefined }
    }, process.env)`
  const { code, out } = await runScriptToItsEnd(script, { DATABASE_URL: url, DATA_DIR: t.testdir() })
  t.equal(code, 1)
  t.match(out, /"level":"fatal".*nobody handles this/)
})

t.test('a process whose METRICS_PORT is in use ends with one line', async (t) => {
  const { url } = await withDatabase(t)
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const env = { DATABASE_URL: url, DATA_DIR: t.testdir(), METRICS_PORT: String(port), LOG_LEVEL: 'silent' }
  const line = `METRICS_PORT: port ${port} is in use: stop the program that listens on it, or set another port\n`
  t.match(await runToItsEnd('submitter', env), { code: 1, complaint: line })
})

t.test('an auditor whose log contradicts a checkpoint reports it in stuck until it signs again', async (t) => {
  const { pool, url, directory, keyFile, checkpointFile, transfers, tamper } = await withAudit(t)
  const env = {
    DATABASE_URL: url,
    DATA_DIR: directory,
    AUDIT_KEY_FILE: keyFile,
    AUDIT_ORIGIN: 'example.com/test',
    AUDIT_CHECKPOINT_FILE: checkpointFile,
    AUDIT_CHECKPOINT_INTERVAL_MS: '1000',
  }
  const { lines, logger } = keptLog()
  const kernel = { ...composeKernel(loadConfig(env), 'auditor'), logger }
  const auditor = await runWorker(kernel, (kernel, signal) => startAuditor(kernel, signal, 50))
  t.after(() => auditor.stop())
  await transfers(1)
  await eventually(async () => (await pool.query('SELECT FROM audit_checkpoints WHERE size > 0')).rowCount === 1)
  const stuck = async () => (await runToItsEnd('bursar stuck', env)).out
  t.notMatch(await stuck(), 'audit_stopped')

  await tamper('CREATE TABLE taken AS SELECT * FROM events', 'DELETE FROM events')
  await eventually(() => lines.some(({ level }) => level === 60))
  const reports = (isNull: boolean) =>
    eventually(async () => {
      const condition = isNull ? 'IS NULL' : 'IS NOT NULL'
      const text = `SELECT FROM heartbeats WHERE process = 'auditor' AND problem ${condition}`
      return (await pool.query(text)).rowCount === 1
    })
  await reports(false)
  t.match(await stuck(), /audit_stopped · auditor [\s\S]*signs no checkpoints\.[\s\S]*audit verify/)

  await tamper('INSERT INTO events OVERRIDING SYSTEM VALUE SELECT * FROM taken')
  await reports(true)
  t.notMatch(await stuck(), 'audit_stopped')

  // The file cannot be written, again and again.
  await rm(checkpointFile)
  await mkdir(checkpointFile)
  await transfers(1)
  await reports(false)
  t.match(await stuck(), /audit_stopped · auditor [\s\S]*failed \d+ times in a row/)
})
