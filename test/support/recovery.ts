/** The recovery command, run in this process, with its output and exit code. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { composeRecovery, type RecoverySources } from '../../src/compose/recovery.ts'
import { type RecoveryCommandIo, recoveryCommand } from '../../src/recovery/command/recovery-command.ts'

export type Ran = { readonly code: number; readonly out: string; readonly err: string }

/** Without a database: any use of one fails the test. */
export const OFFLINE: RecoverySources = {
  backUp: () => Promise.reject(new Error('an offline command opened the service')),
  currentWallets: () => Promise.reject(new Error('an offline command opened the service')),
  restoreSeeds: () => Promise.reject(new Error('an offline command opened the service')),
}

export async function runRecovery(
  sources: RecoverySources,
  args: readonly string[],
  stdin: RecoveryCommandIo['stdin'] = async () => '',
): Promise<Ran> {
  const out: string[] = []
  const err: string[] = []
  const code = await recoveryCommand(args, {
    ...sources,
    stdin,
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  })
  return { code, out: out.join(''), err: err.join('') }
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
