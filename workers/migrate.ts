/** Brings the database to the newest schema and ends: what runs before every other process of an installation. */
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { loadConfig } from '../src/config.ts'
import { migrate } from '../src/event-log/migrate.ts'
import { createLogger } from '../src/logging.ts'

const { databaseUrl, logLevel } = loadConfig(process.env)
if (databaseUrl === null) throw new Error('DATABASE_URL must be set: the sandbox migrates its database itself')
const log = createLogger({ level: logLevel, processName: 'migrate' })
const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
const applied = await migrate(pool, fileURLToPath(new URL('../prisma/migrations', import.meta.url)))
await pool.end()
log.info({ applied }, 'the schema is up to date')
