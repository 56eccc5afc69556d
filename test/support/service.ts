/**
 * The built service as a user starts it: the sandbox, in its own directory and on its own port. Its processes are
 * killed with SIGKILL. Only processes with the directory in their environment are affected.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Network } from '../../src/core/networks.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { type Child, isAlive, startChild, stopChild } from '../../src/sandbox/processes.ts'
import { type Client, createClient } from './client.ts'
import { HANGS_AFTER_MS } from './within.ts'

/** The content of `sandbox.json`. */
export type SandboxState = {
  readonly base_url: string
  readonly api_key: string
  readonly networks: Readonly<Record<Network, { readonly rpc_url: string; readonly chain_id: number }>>
  readonly database_url: string
  readonly processes: readonly { readonly name: string; readonly pid: number }[]
}

export type Service = {
  readonly directory: string
  readonly api: Client
  /** The newest state that the sandbox wrote. */
  readonly state: () => SandboxState
  /** Sends a signal to a process by its name in the state file; false when it is not running. */
  readonly kill: (name: string, signal?: NodeJS.Signals) => boolean
  /** SIGKILL to the parent and all its children at once; returns when all have exited. */
  readonly killAll: () => Promise<void>
  /** SIGKILL to the parent only: the kernel signals its children. Returns when the parent has exited. */
  readonly killParent: () => Promise<void>
  /** Starts it again in the same directory, on the same port. */
  readonly start: () => Promise<void>
  /** Stops it as Ctrl-C does. */
  readonly stop: () => Promise<void>
  /** Stops it and removes its directory. */
  readonly close: () => Promise<void>
  /** Processes that exited without being killed, since the first start. */
  readonly deaths: () => string[]
  /** The end of every log, for the report of a failure. */
  readonly lastWords: () => string
}

export type ServiceOptions = {
  /**
   * Settings in addition to the sandbox's own: `{ REDIS_URL: … }`. By default there are no mpc parties, whose keys take
   * seconds to create.
   */
  readonly env?: Readonly<Record<string, string>>
  /** The script to start instead of `npm start`. */
  readonly script?: string
  /** Its directory; default is a new one. */
  readonly directory?: string
}

const START_SCRIPT = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))
const PROCESS_NAMES = ['api', 'dispatcher', 'signer', 'submitter', 'chain-follower'] as const
const STOP_GRACE_MS = 90_000
const LAST_WORDS_BYTES = 3_000

type Place = {
  readonly directory: string
  readonly dataDir: string
  readonly stateFile: string
  readonly logFile: string
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { env = {}, script = START_SCRIPT, directory = await mkdtemp(join(tmpdir(), 'bursar-faults-')) } = options
  const dataDir = join(directory, 'data')
  const place = {
    directory,
    dataDir,
    stateFile: join(dataDir, 'sandbox.json'),
    logFile: join(directory, 'sandbox.log'),
  }
  const settings = {
    PATH: process.env.PATH,
    HOME: directory,
    TMPDIR: tmpdir(),
    DATA_DIR: dataDir,
    PORT: String(await freePort()),
    MPC_PARTIES: '0',
    ...env,
  }
  const start = () => startParent(place, script, settings)
  const state = createStateReader(place)
  let parent: Child | null = await start()

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = parent
    if (ending === null) return
    parent = null
    await stopChild(ending, signal, STOP_GRACE_MS)
  }

  const { base_url, api_key } = state()
  return {
    directory,
    state,
    api: createClient(base_url, api_key),
    kill(name, signal = 'SIGKILL') {
      const pid = state().processes.find((one) => one.name === name)?.pid
      return pid !== undefined && killOurs(pid, dataDir, signal)
    },
    async killAll() {
      const pids = state().processes.map(({ pid }) => pid)
      parent?.kill('SIGKILL')
      for (const pid of pids) killOurs(pid, dataDir, 'SIGKILL')
      await end('SIGKILL')
      while (pids.some((pid) => isOurs(pid, dataDir))) await sleep(5)
    },
    killParent: () => end('SIGKILL'),
    async start() {
      parent = await start()
    },
    stop: () => end('SIGTERM'),
    deaths: () => deathsIn(readFileSync(place.logFile, 'utf8')),
    lastWords: () => lastWords(place),
    async close() {
      await end('SIGTERM')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function startParent(place: Place, script: string, env: NodeJS.ProcessEnv): Promise<Child> {
  const startedAt = Date.now()
  const { stateFile, logFile } = place
  const child = await startChild({
    command: process.execPath,
    args: [script],
    env,
    logFile,
    onParentDeath: 'TERM',
  })
  let exited = false
  void child.exited.then(() => {
    exited = true
  })
  // The file of an earlier run may still exist: the sandbox writes a new one when it is ready.
  while (!isNewer(stateFile, startedAt)) {
    if (exited || Date.now() > startedAt + HANGS_AFTER_MS)
      throw new Error(`the sandbox does not start:\n${lastWords(place)}`)
    await sleep(20)
  }
  return child
}

function createStateReader({ stateFile }: Place): () => SandboxState {
  let last: SandboxState | null = null
  return () => {
    try {
      last = JSON.parse(readFileSync(stateFile, 'utf8')) as SandboxState
    } catch {
      // During a write or a start: the last known state is the best available.
    }
    if (last === null) throw new Error('the sandbox was never ready')
    return last
  }
}

/** The supervisor's reports of unexpected exits: `signer (code 1)`. */
function deathsIn(log: string): string[] {
  return [...log.matchAll(/^ {2}! (\S+) exited \((?!SIGKILL\))(.*?)\)/gm)].map(([, name, how]) => `${name} (${how})`)
}

function lastWords({ dataDir, logFile }: Place): string {
  const files = [logFile, ...PROCESS_NAMES.map((name) => join(dataDir, 'logs', `${name}.log`))]
  return files.map((file) => `── ${basename(file)}\n${endOf(file)}`).join('\n')
}

function isNewer(file: string, than: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > than
}

function killOurs(pid: number, dataDir: string, signal: NodeJS.Signals): boolean {
  if (!isOurs(pid, dataDir)) return false
  process.kill(pid, signal)
  return true
}

/** The pid may belong to another program now. Without /proc only its existence can be checked. */
function isOurs(pid: number, dataDir: string): boolean {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`DATA_DIR=${dataDir}`)
  } catch {
    return false // It exited between the two checks.
  }
}

function endOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-LAST_WORDS_BYTES) : '(no log)'
}
