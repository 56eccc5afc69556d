/**
 * Child processes that end with their parent if the system supports it, whose exit can be awaited, and that do not
 * receive a Ctrl-C of the terminal directly.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How a process ended. */
export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** A running child. */
export type Child = {
  readonly pid: number
  /** Resolves when the process has exited; never rejects. */
  readonly exited: Promise<Exit>
  /** Sends a signal; does nothing once the process is gone. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** Allows this process to exit while the child runs. */
  readonly unref: () => void
}

/** Sandbox logs are only informative. */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Starts a native program.
 *
 * @throws Error when it cannot be spawned
 */
export async function startChild(options: {
  readonly command: string
  readonly args: readonly string[]
  /** Scheduling niceness of the process, 0 to 19. */
  readonly niceness?: number
  /** Prepended to the command: `unshare …`. */
  readonly prefix?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Both streams are appended to this file. A large file is rotated and kept beside the new one. */
  readonly logFile: string
  /** Sent to the child by the kernel when this process dies (Linux; other systems use a pid file). */
  readonly onParentDeath: 'TERM' | 'INT'
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  /** Opens a channel to a Node program, whose end shows that the parent has exited, on every system. */
  readonly channel?: boolean
}): Promise<Child> {
  const nice = options.niceness === undefined ? [] : ['nice', '-n', String(options.niceness)]
  const words = [
    ...(options.prefix ?? []),
    ...nice,
    ...dieWithParent(options.onParentDeath),
    options.command,
    ...options.args,
  ]
  const [command = options.command, ...args] = words
  const log = openLog(options.logFile)
  try {
    const child = spawn(command, args, {
      stdio: options.channel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
      // A separate process group: the terminal's Ctrl-C goes only to the supervisor, which stops everything in order.
      detached: true,
      ...(options.env ? { env: options.env } : {}),
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    })
    await once(child, 'spawn')
    if (options.niceness !== undefined && child.pid !== undefined) standBack(child.pid, options.niceness)
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }))
    })
    return { pid: child.pid ?? 0, exited, kill: (signal) => void child.kill(signal), unref: () => child.unref() }
  } finally {
    closeSync(log)
  }
}

/**
 * Linux balances the CPU between whole sessions, and every child is one: `nice` only has effect within it (sched(7),
 * autogroup).
 */
function standBack(pid: number, niceness: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // Another system, or a kernel without autogroups: `nice` has effect there.
  }
}

function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
}

/** Ends a child: `signal` first, SIGKILL if it is still running after `graceMs`. */
export async function stopChild(child: Child, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  await child.exited
  clearTimeout(timer)
}

let hasSetpriv: boolean | undefined

/**
 * A command prefix with which the kernel signals the command when its parent dies for any reason. It execs the command
 * in place, so that the pid is the command's. Empty without `setpriv` (util-linux).
 */
export function dieWithParent(signal: 'TERM' | 'INT'): readonly string[] {
  hasSetpriv ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0
  return hasSetpriv ? ['setpriv', '--pdeathsig', signal, '--'] : []
}

/** Whether a process with this pid exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The start time of a process, which distinguishes it from others with the same pid. Undefined when there is none. */
export function birthOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() || undefined
  }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The name in parentheses may contain spaces; after it, the state is field 3 and the start time field 22.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' ? undefined : `${boot} ${fields[19]}`
  } catch {
    return undefined // It exited between the two checks.
  }
}

/** The command line of a process, to recognize a reused pid; undefined when there is none. */
export function commandLine(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  if (process.platform === 'linux') {
    try {
      const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return text === '' ? undefined : text // A zombie has no command line: it has exited.
    } catch {
      return undefined // It exited between the two checks.
    }
  }
  const text = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim()
  return text === undefined || text === '' ? undefined : text
}

/**
 * Ends a process left by an earlier run, if its command line contains `marker`.
 *
 * @param signals sent in turn, each given `graceMs`
 * @returns whether there was one
 */
export async function stopLeftover(
  pid: number,
  marker: string,
  signals: readonly NodeJS.Signals[],
  graceMs: number,
): Promise<boolean> {
  const isOurs = () => commandLine(pid)?.includes(marker) === true
  if (!isOurs()) return false
  for (const signal of signals) {
    process.kill(pid, signal)
    const deadline = Date.now() + graceMs
    while (isOurs() && Date.now() < deadline) await sleep(20)
    if (!isOurs()) return true
  }
  throw new Error(`process ${pid} (${marker}) of an earlier run did not stop: stop it manually`)
}
