/** The sandbox's directory: one running instance at a time, and only a sandbox directory is ever emptied. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { requireUsableDirectory } from '../keys/usable-directory.ts'
import { birthOf } from './processes.ts'

/** Marks the directory as a sandbox's, with the pid and start time of its process. */
const MARK = 'sandbox.pid'
/** Two concurrent starts both write the mark; after this time, ms, the later one owns it. */
const SETTLE_MS = 50

/** The user's mistake, in one line. */
export class SandboxRefused extends Error {
  override readonly name = 'SandboxRefused'
}

/**
 * Takes the directory for this process. A killed process leaves its mark, which blocks nothing.
 *
 * @throws InvalidSetting within five seconds for a directory that cannot be used; SandboxRefused when another sandbox
 *   runs there, or when `reset` is requested for a directory that is not a sandbox's
 */
export async function openDataDir({
  directory,
  reset,
}: {
  readonly directory: string
  /** Empty it first: chains, wallets and keys of earlier runs are deleted. */
  readonly reset: boolean
}): Promise<void> {
  const mark = join(directory, MARK)
  await requireUsableDirectory(directory, 'DATA_DIR', { writes: true })
  await refuseWhenHeld(directory)
  if (reset && existsSync(directory)) await empty(directory)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(mark, `${process.pid} ${birthOf(process.pid)}\n`, { mode: 0o600 })
  await sleep(SETTLE_MS)
  await refuseWhenHeld(directory)
}

/** A pid alone is not enough: after a reboot, or in a container, another program soon has it. */
async function refuseWhenHeld(directory: string): Promise<void> {
  const mark = await readFile(join(directory, MARK), 'utf8').catch(() => '')
  const [, pid, birth] = /^(\d+) (.+)$/.exec(mark.trim()) ?? []
  const holder = Number(pid)
  if (birth === undefined || holder === process.pid || birthOf(holder) !== birth) return
  throw new SandboxRefused(
    `A sandbox is already running in ${directory} (process ${holder}): stop it, or set DATA_DIR to another directory.`,
  )
}

async function empty(directory: string): Promise<void> {
  const entries = await readdir(directory)
  if (entries.length > 0 && !entries.includes(MARK)) {
    throw new SandboxRefused(`${directory} is not the directory of a sandbox: --reset only deletes data of a sandbox.`)
  }
  for (const entry of entries) await rm(join(directory, entry), { recursive: true, force: true })
}
