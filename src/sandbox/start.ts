/**
 * `npm start` without settings: the whole service on this machine, with a real PostgreSQL, three local chains and every
 * worker under one parent. Stops everything it started.
 */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { exitAfter } from '../cli/exit-after.ts'
import { printText } from '../cli/printed.ts'
import { loadConfig } from '../compose/load-config.ts'
import { ConfigError } from '../config.ts'
import { InvalidSetting } from '../core/errors.ts'
import { openDataDir, SandboxRefused } from './data-dir.ts'
import { runSandbox } from './run-sandbox.ts'

const USAGE = `usage: npm start -- [--reset]

  --reset   delete the wallets, keys and chains of earlier runs in DATA_DIR first
`

function readArguments(): { reset: boolean; help: boolean } {
  const { values } = parseArgs({
    options: { reset: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  })
  return values
}

async function main(): Promise<void> {
  const { reset, help } = readArguments()
  if (help) return void printText(process.stdout, USAGE)
  const config = loadConfig(process.env)
  await openDataDir({ directory: config.dataDir, reset })
  const sandbox = await runSandbox({ config, env: process.env, stateFile: join(config.dataDir, 'sandbox.json') })
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  printText(process.stdout, '\nStopping. Accepted requests are in the event log and continue after the next start.\n')
  await sandbox.stop()
}

try {
  await main()
  process.exit(0)
} catch (error) {
  const expected =
    error instanceof ConfigError ||
    error instanceof SandboxRefused ||
    error instanceof InvalidSetting ||
    (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
  printText(
    process.stderr,
    `${expected && error instanceof Error ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  )
  exitAfter(error)
}
