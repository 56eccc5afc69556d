/** The recovery command, run in this process, with its output and exit code. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { composeRecovery, type RecoverySources } from '../../src/compose/recovery.ts'
import { type RecoveryContext, recoveryProgram } from '../../src/recovery/command/recovery-program.ts'
import { type CliRun, runProgramLine } from './cli.ts'

/** Without a database: any use of one fails the test. */
export const OFFLINE: RecoverySources = {
  backUp: () => Promise.reject(new Error('an offline command opened the service')),
  currentWallets: () => Promise.reject(new Error('an offline command opened the service')),
  restoreSeeds: () => Promise.reject(new Error('an offline command opened the service')),
}

export function runRecovery(
  sources: RecoverySources,
  args: string | readonly string[],
  stdin: RecoveryContext['stdin'] = async () => '',
): Promise<CliRun> {
  return runProgramLine(recoveryProgram({ ...sources, stdin }), args)
}

/** With the settings of a service. */
export function recoveryOf(env: NodeJS.ProcessEnv): RecoverySources {
  return composeRecovery({ LOG_LEVEL: 'silent', ...env })
}

/** A new directory, removed after the test. */
export async function scratch(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-recovery-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** A new identity in a file. Returns the file and the identity's recipient. */
export async function makeIdentity(directory: string, name: string) {
  const file = join(directory, name)
  const { code, out, err } = await runRecovery(OFFLINE, ['keygen', '--out', file, '--json'])
  if (code !== 0) throw new Error(err)
  return { file, recipient: (JSON.parse(out) as { recipient: string }).recipient }
}
