/** The sandbox's directory: one running instance at a time, and only a directory of ours is ever emptied. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { birthOf } from './processes.ts'

/** Says that the directory is a sandbox's, and which process runs there: its pid, and when it was started. */
const MARK = 'sandbox.pid'
/** Two that start at the same moment both take the mark; after this the later one has it. */
const SETTLE_MS = 50

/** What the user did wrong, in one line. */
export class SandboxRefused extends Error {
  override readonly name = 'SandboxRefused'
}

export type DataDirOptions = {
  readonly directory: string
  /** Empty it first: chains, wallets and keys of an earlier run are gone then. */
  readonly reset: boolean
}

/**
 * Takes the directory for this process. A process that was killed leaves its mark behind; that blocks nothing.
 *
 * @throws SandboxRefused when another sandbox runs there, or when `reset` is asked for a directory that is none of ours
 */
export async function openDataDir({ directory, reset }: DataDirOptions): Promise<void> {
  const mark = join(directory, MARK)
  await refuseWhenHeld(directory)
  if (reset && existsSync(directory)) await empty(directory)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeFile(mark, `${process.pid} ${birthOf(process.pid)}\n`, { mode: 0o600 })
  await sleep(SETTLE_MS)
  await refuseWhenHeld(directory)
}

/** A pid alone is not enough: after a reboot, or in a container, it is soon another program's. */
async function refuseWhenHeld(directory: string): Promise<void> {
  const mark = await readFile(join(directory, MARK), 'utf8').catch(() => '')
  const [, pid, birth] = /^(\d+) (.+)$/.exec(mark.trim()) ?? []
  const holder = Number(pid)
  if (birth === undefined || holder === process.pid || birthOf(holder) !== birth) return
  throw new SandboxRefused(
    `A sandbox runs in ${directory} already (process ${holder}): stop it, or set DATA_DIR to another directory.`,
  )
}

async function empty(directory: string): Promise<void> {
  const entries = await readdir(directory)
  if (entries.length > 0 && !entries.includes(MARK)) {
    throw new SandboxRefused(`${directory} is not a sandbox's directory: --reset empties only those.`)
  }
  for (const entry of entries) await rm(join(directory, entry), { recursive: true, force: true })
}
