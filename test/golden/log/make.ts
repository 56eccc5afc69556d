/**
 * Generates the golden log: `node --import tsx test/golden/log/make.ts`. Run it only after adding new events at the end
 * of test/support/golden-history.ts: the existing log and its results must not change, otherwise it writes nothing.
 * `--anew` overrides this check, and with it the guarantee that older logs are read unchanged.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { migrate } from '../../../src/event-log/migrate.ts'
import { startPostgres } from '../../../src/sandbox/postgres.ts'
import { GOLDEN_HEADER, goldenEvents } from '../../support/golden-history.ts'
import { imported, missingFrom, type Models, modelsOf } from '../../support/log-file.ts'

const LOG = fileURLToPath(new URL('log.jsonl', import.meta.url))
const MODELS = fileURLToPath(new URL('read-models.json', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url))

const body = [GOLDEN_HEADER, ...goldenEvents()]
const sha256 = createHash('sha256').update(body.map((line) => `${line}\n`).join('')).digest('hex')
const lines = [...body, JSON.stringify({ events: body.length - 1, rows: 0, sha256 })]
const models = await project(lines)

const anew = process.argv.includes('--anew')
if (!anew && existsSync(LOG)) await requireKept()
writeFileSync(LOG, `${lines.join('\n')}\n`)
writeFileSync(MODELS, `${JSON.stringify(models, null, 1)}\n`)
process.stdout.write(`${lines.length - 2} events\n`)

async function requireKept(): Promise<void> {
  const before = readFileSync(LOG, 'utf8').split('\n').slice(0, -1)
  const changed = before.slice(0, -1).findIndex((line, n) => line !== body[n])
  if (changed !== -1) stop(`line ${changed + 1} of the golden log would change`)
  const missing = missingFrom(await project(before), JSON.parse(readFileSync(MODELS, 'utf8')) as Models)
  if (missing.length > 0) stop(`the log of before gives other rows: ${missing.slice(0, 5).join(', ')}`)
}

function stop(reason: string): never {
  process.stderr.write(`${reason}: nothing was written\n`)
  process.exit(1)
}

async function project(exportLines: readonly string[]): Promise<Models> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-golden-'))
  const postgres = await startPostgres({ directory, settings: { fsync: 'off' } })
  const pool = new pg.Pool({ connectionString: postgres.url })
  pool.on('error', () => undefined) // The server stops while the last connection is closing.
  try {
    await migrate(pool, MIGRATIONS)
    await imported(pool, exportLines)
    return await modelsOf(pool)
  } finally {
    await pool.end()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
}
