/**
 * The lock on the directory of a party: while one process has it, no other one gets it. A process that was killed leaves
 * a file, and no lock: whoever comes next sees that its owner is gone.
 *
 * Invariant: locks are numbered, and a number is taken once (`link`), only after the owner of the number before was
 * found gone. Numbers are never reused, so a process that decided on an old state finds its number taken.
 */
import { randomUUID } from 'node:crypto'
import { open, readdir, readFile, readlink, unlink, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../core/errors.ts'
import { createFileOnce, isMissing, preparePrivateDirectory, replaceFile } from '../private-files.ts'

const FOLDER = 'lock'
/** How often the owner touches its file, ms. */
const BEAT_MS = 2_000
/** An owner that another kernel, or another container, runs is gone when its file was not touched for so long, ms. */
const SILENT_MS = 20_000
/** Where the state and the start of a process stand in `/proc/<pid>/stat`, after its name. */
const STATE = 0
const STARTED = 19

export type DirectoryLock = {
  /**
   * Call it before anything that one process alone may do.
   *
   * @throws Unavailable `mpc_directory_lost` when another process has the directory, or it cannot be read
   */
  readonly requireHeld: () => Promise<void>
  /** Why the lock is lost; `null` while this process has it. */
  readonly lost: () => string | null
  /** Lets the next process have the directory at once. */
  readonly release: () => Promise<void>
}

/** `kernel` (its boot id), `namespace` (of process ids) and `started` (ticks) are `null` where there is no `/proc`. */
type Owner = {
  readonly token: string
  readonly host: string
  readonly pid: number
  readonly kernel: string | null
  readonly namespace: string | null
  readonly started: string | null
  readonly released: boolean
}

/**
 * Takes the lock of a directory, which is created if necessary. An owner on this kernel and in the same container is
 * judged at once, also while it is paused; of another one only its heartbeats are seen, which takes `silentMs`.
 *
 * @param log gets a line when this has to wait
 * @throws Unavailable `mpc_party_running` while another process has it
 */
export async function lockDirectory({
  directory,
  log,
  beatMs = BEAT_MS,
  silentMs = SILENT_MS,
}: {
  readonly directory: string
  readonly log: { readonly warn: (fields: object, message: string) => void }
  readonly beatMs?: number
  readonly silentMs?: number
}): Promise<DirectoryLock> {
  const folder = join(directory, FOLDER)
  await preparePrivateDirectory(folder)
  const mine = { ...(await thisProcess()), token: randomUUID(), host: hostname(), released: false }
  const numbers = await numbersIn(folder)
  const before = numbers.at(-1) ?? 0
  if (before > 0) await requireGone(folder, before, mine, { log, beatMs, silentMs })
  const path = join(folder, String(before + 1))
  const isTaken = await createFileOnce(path, `${JSON.stringify(mine)}\n`)
  const isNewest = (await numbersIn(folder)).at(-1) === before + 1
  if (isTaken && !isNewest) await unlink(path)
  if (!isTaken || !isNewest) throw running(directory, 'another process took it at the same moment')
  for (const number of numbers) await unlinkIfThere(join(folder, String(number)))
  return held(directory, before + 1, mine, beatMs)
}

function held(directory: string, number: number, mine: Owner, beatMs: number): DirectoryLock {
  const folder = join(directory, FOLDER)
  const path = join(folder, String(number))
  let lost: string | null = null
  const requireHeld = async () => {
    const numbers = await numbersIn(folder).catch((error: unknown) => {
      if (isMissing(error)) return []
      // Such as too many open files: who has the directory is not known now, and may be known at the next look.
      throw new Unavailable('mpc_directory_lost', `${folder} cannot be read: ${(error as Error).message}.`)
    })
    if (numbers.at(-1) !== number) {
      lost = `another process has taken ${directory}, or ${folder} was removed: stop it, then start this one again`
    }
    if (lost !== null) throw new Unavailable('mpc_directory_lost', `This party does nothing more: ${lost}.`)
  }
  const timer = setInterval(() => {
    const now = new Date()
    // A failed touch shows when the lock is checked.
    utimes(path, now, now).catch(() => undefined)
    requireHeld().catch(() => undefined)
  }, beatMs)
  timer.unref()
  return {
    requireHeld,
    lost: () => lost,
    async release() {
      clearInterval(timer)
      if (lost === null) await replaceFile(path, `${JSON.stringify({ ...mine, released: true })}\n`)
    },
  }
}

type Watching = {
  readonly log: { readonly warn: (fields: object, message: string) => void }
  readonly beatMs: number
  readonly silentMs: number
}

async function requireGone(folder: string, number: number, mine: Owner, { log, beatMs, silentMs }: Watching) {
  const path = join(folder, String(number))
  const owner = await readOwner(path)
  if (owner?.released) return
  const who = owner === null ? path : `process ${owner.pid} on ${owner.host}`
  const refuse = () => running(folder.slice(0, -FOLDER.length - 1), `${who} has it`)
  if (owner !== null && owner.kernel !== null && owner.kernel === mine.kernel && owner.namespace === mine.namespace) {
    if (await isAlive(owner)) throw refuse()
    return
  }
  log.warn(
    { path, wait_ms: silentMs },
    `waiting to see whether ${who} still runs: it may be in another container or host`,
  )
  const first = await touched(path)
  for (let waited = 0; waited < silentMs; waited += beatMs) {
    await sleep(beatMs)
    if ((await touched(path)) !== first) {
      if ((await readOwner(path))?.released) return
      throw refuse()
    }
  }
}

/** A process that ended is gone, also while nobody has collected it; another process with its number is another one. */
async function isAlive({ pid, started }: Owner): Promise<boolean> {
  const now = await startOf(pid)
  if (now !== undefined) return now !== null && now === started
  // Others may be hidden in /proc.
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process started, in ticks since the boot; `null` for one that has ended, `undefined` when nothing is known. */
async function startOf(pid: number): Promise<string | null | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  // The name is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[STATE] === 'Z' || fields[STATE] === 'X' ? null : fields[STARTED]
}

async function thisProcess(): Promise<Pick<Owner, 'pid' | 'kernel' | 'namespace' | 'started'>> {
  const orNull = (text: Promise<string>) => text.catch(() => null)
  return {
    pid: process.pid,
    kernel: (await orNull(readFile('/proc/sys/kernel/random/boot_id', 'utf8')))?.trim() ?? null,
    namespace: await orNull(readlink('/proc/self/ns/pid')),
    started: (await startOf(process.pid)) ?? null,
  }
}

/** `null` for a file that is gone or is no lock: only its heartbeats are judged then. */
async function readOwner(path: string): Promise<Owner | null> {
  try {
    const owner = JSON.parse(await readFile(path, 'utf8')) as Partial<Owner> | null
    return typeof owner?.pid === 'number' && typeof owner.host === 'string' ? (owner as Owner) : null
  } catch (error) {
    if (error instanceof SyntaxError || isMissing(error)) return null
    throw error
  }
}

/** Opened for each look: a network file system then asks its server. */
async function touched(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (file === null) return 'gone'
  try {
    const { mtimeNs, ino } = await file.stat({ bigint: true })
    return `${mtimeNs} ${ino}`
  } finally {
    await file.close()
  }
}

async function numbersIn(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names
    .filter((name) => /^[1-9][0-9]{0,14}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
}

function running(directory: string, why: string): Unavailable {
  return new Unavailable(
    'mpc_party_running',
    `${directory} is in use: ${why}. A party has one process: stop the other one, then start this one.`,
  )
}
