/**
 * Child processes that do not outlive their parent where the system allows it, whose end can be awaited, and that a
 * Ctrl-C in the terminal does not reach behind the supervisor's back.
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
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<Exit>
  /** Sends a signal; does nothing once the process is gone. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** Lets this process end while the child runs. */
  readonly unref: () => void
}

export type ChildOptions = {
  readonly command: string
  readonly args: readonly string[]
  /** How far the process stands back when the processor is short: a nice value, 0 to 19. */
  readonly niceness?: number
  /** Put before the command: `unshare …`. */
  readonly prefix?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Both streams are appended to this file. One that has grown large gives way to a new one, and is kept beside it. */
  readonly logFile: string
  /** Sent to the child by the kernel when this process dies (Linux; elsewhere a pid file has to do). */
  readonly onParentDeath: 'TERM' | 'INT'
  readonly uid?: number | undefined
  readonly gid?: number | undefined
  /** Gives a Node program a channel whose end tells it that its parent is gone, on every system. */
  readonly channel?: boolean
}

/** Logs of the sandbox are a hint for people. */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Starts a native program.
 *
 * @throws Error when it cannot be spawned
 */
export async function startChild(options: ChildOptions): Promise<Child> {
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
      // A process group of its own: the terminal's Ctrl-C goes to the supervisor alone, which stops things in order.
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

/** Linux weighs whole sessions against each other, and every child is one: within it alone `nice` says nothing (sched(7), autogroup). */
function standBack(pid: number, niceness: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // Another system, or a kernel without groups: there `nice` does it.
  }
}

function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
}

/** Ends a child: `signal` first, SIGKILL when it has not obeyed within `graceMs`. */
export async function stopChild(child: Child, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  await child.exited
  clearTimeout(timer)
}

let hasSetpriv: boolean | undefined

/**
 * The words before a command that make the kernel signal it when its parent dies, however it dies. They exec the
 * command in place, so that the pid is the command's. Empty where `setpriv` (util-linux) is missing.
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

/**
 * What tells a process from every other that had or will have its pid: when it was started. Undefined when there is none.
 */
export function birthOf(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() || undefined
  }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    // The name in parentheses may hold spaces; the start time is field 22 and the state, field 3, comes first after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return fields[0] === 'Z' ? undefined : `${boot} ${fields[19]}`
  } catch {
    return undefined // It ended between the two looks.
  }
}

/** The command line of a process, so that a reused pid is not mistaken for ours; undefined when there is none. */
export function commandLine(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  if (process.platform === 'linux') {
    try {
      const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return text === '' ? undefined : text // A zombie has no command line: it is gone.
    } catch {
      return undefined // It ended between the two looks.
    }
  }
  const text = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim()
  return text === undefined || text === '' ? undefined : text
}

/**
 * Ends a process that an earlier run left behind, if its command line holds `marker`.
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
  throw new Error(`process ${pid} (${marker}) of an earlier run does not end: stop it by hand`)
}
