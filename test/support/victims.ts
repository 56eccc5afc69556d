/** Starts processes of the built service that die at a fault point, and reports their exit. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { freePort } from '../../src/sandbox/ports.ts'
import { type Client, createClient } from './client.ts'
import type { Step } from './fault-points.ts'
import { eventually } from './sandbox-eventually.ts'
import type { LocalService } from './service-local.ts'

/** Those that a transaction passes through. */
export const PROCESS_KINDS = ['api', 'dispatcher', 'signer', 'submitter', 'chain-follower'] as const
/** With the one that tells of it. */
export const POINT_KINDS = [...PROCESS_KINDS, 'webhook-sender'] as const
export type ProcessKind = (typeof POINT_KINDS)[number]

/** Where a process is killed. `afterEffect`: only if this was its last effect since it was armed. */
export type Place = { readonly moment: 'before' | 'after'; readonly step: Step; readonly afterEffect?: Step }

export type Order =
  | { readonly type: 'start' }
  | ({ readonly type: 'arm'; readonly signal: 'SIGKILL' | 'SIGSTOP' } & Place)
  | { readonly type: 'set clock'; readonly aheadMs: number }

export type FromVictim =
  | { readonly type: 'loaded' | 'started' | 'armed' | 'clock set' }
  | { readonly type: 'reached'; readonly moment: 'before' | 'after'; readonly step: Step }
  | { readonly type: 'failed'; readonly step: Step; readonly error: string }

export type Armed = { readonly armed: Promise<void>; readonly reached: Promise<void> }

export type Victim = {
  readonly pid: number
  readonly start: () => Promise<void>
  /**
   * From now on the first matching step ends it, or with SIGSTOP stops it. `reached` resolves when it is stopped there:
   * nothing of that step has happened, or all of it. For a stopped process it takes effect when it is resumed.
   */
  readonly arm: (place: Place, signal?: 'SIGKILL' | 'SIGSTOP') => Armed
  /** How far its clock is ahead of the others from now on, ms. */
  readonly setClock: (aheadMs: number) => Promise<void>
  /** Resolves with true when it was killed at its point, with false when it exited otherwise. */
  readonly ended: Promise<boolean>
  /** Refused steps, with the error of the database or the node. */
  readonly failures: readonly { readonly step: Step; readonly error: string }[]
  readonly resume: () => void
  /** Kills it immediately. */
  readonly kill: () => void
}

const ENTRY = fileURLToPath(new URL('./victim-process.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Loads a process and makes it wait for the start message. */
export function prepareVictim(kind: ProcessKind, env: Readonly<Record<string, string>>): Victim {
  const child = spawn(process.execPath, ['--import', 'tsx', ENTRY, kind], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const failures: { step: Step; error: string }[] = []
  const heard = listen(child, (message) => void (message.type === 'failed' && failures.push(message)))
  const loaded = heard('loaded')
  const ended = new Promise<boolean>((resolve) => child.on('exit', (_code, signal) => resolve(signal === 'SIGKILL')))
  const order = async (said: Order, answer: FromVictim['type']) => {
    const answered = heard(answer)
    child.send(said)
    await answered
  }
  return {
    pid: child.pid ?? 0,
    async start() {
      await loaded
      await order({ type: 'start' }, 'started')
    },
    arm: (place, signal = 'SIGKILL') => ({
      reached: heard('reached'),
      armed: order({ type: 'arm', signal, ...place }, 'armed'),
    }),
    setClock: (aheadMs) => order({ type: 'set clock', aheadMs }, 'clock set'),
    ended,
    failures,
    resume: () => void child.kill('SIGCONT'),
    kill: () => void child.kill('SIGKILL'),
  }
}

export type VictimApi = { readonly api: Client; readonly victim: Victim; readonly baseUrl: string }

/**
 * A separate process of the built API beside a service in the test's process, for a test that kills it.
 *
 * @param settings in place of those of the service
 */
export async function startVictimApi(
  t: Test,
  service: Pick<LocalService, 'urlAs' | 'env' | 'apiKey'>,
  settings: Readonly<Record<string, string>> = {},
): Promise<VictimApi> {
  const port = await freePort()
  const own = { DATABASE_URL: service.urlAs('api'), HOST: '127.0.0.1', PORT: String(port) }
  const victim = prepareVictim('api', { ...service.env, ...own, ...settings })
  t.after(victim.kill)
  await victim.start()
  const baseUrl = `http://127.0.0.1:${port}`
  const api = createClient(baseUrl, service.apiKey)
  await eventually(async () => (await api.once({ path: '/healthz' })).status === 200)
  return { api, victim, baseUrl }
}

/** Waits for the next message of a type. */
function listen(child: ChildProcess, onMessage: (message: FromVictim) => void) {
  const waiting = new Map<FromVictim['type'], (() => void)[]>()
  if (child.stdout === null) throw new Error('a victim speaks on its standard output')
  createInterface(child.stdout).on('line', (line) => {
    if (!line.startsWith('{"type"')) return
    const message = JSON.parse(line) as FromVictim
    onMessage(message)
    for (const resolve of waiting.get(message.type)?.splice(0) ?? []) resolve()
  })
  return (type: FromVictim['type']) =>
    new Promise<void>((resolve) => waiting.set(type, [...(waiting.get(type) ?? []), resolve]))
}
