/** The parts for one operator command. Without DATABASE_URL it uses the sandbox running on this machine. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { printText } from '../cli/printed.ts'
import { ConfigError } from '../config.ts'
import { directoryExists } from '../keys/usable-directory.ts'
import { requireFittingDatabase } from './check-database.ts'
import { composeKernel, type Kernel } from './kernel.ts'
import { loadConfig } from './load-config.ts'

/**
 * The result of a task that uses the parts of a process; they are closed afterwards.
 *
 * @param reports whether the task only reads, and reports what is wrong with the database
 * @throws Conflict when the database does not fit this program, before the task begins
 */
export async function withKernel<T>(
  env: NodeJS.ProcessEnv,
  task: (kernel: Kernel) => Promise<T>,
  { reports = false } = {},
): Promise<T> {
  const kernel = composeKernel(await configFor(env), 'command')
  try {
    if (!reports) await requireFittingDatabase(kernel.pool)
    return await task(kernel)
  } finally {
    await kernel.close()
  }
}

async function configFor(env: NodeJS.ProcessEnv) {
  try {
    const quiet = { LOG_LEVEL: 'error', ...env }
    const config = loadConfig(quiet)
    if (config.databaseUrl !== null) return config
    const { database_url: databaseUrl, settings } = await readSandbox(config.dataDir)
    return loadConfig({ ...settings, ...quiet, DATABASE_URL: databaseUrl, SANDBOX: 'true' })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    printText(process.stderr, `${error.message}\n`)
    process.exit(2)
  }
}

type SandboxState = { readonly database_url: string; readonly settings?: Readonly<Record<string, string>> }

/** Its database, and the settings of its processes: its chains have their own ports. */
async function readSandbox(dataDir: string): Promise<SandboxState> {
  await directoryExists(dataDir, 'DATA_DIR')
  try {
    return JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8')) as SandboxState
  } catch {
    throw new ConfigError(['DATABASE_URL must be set, or a sandbox must be running: start one with npm start'])
  }
}
