/**
 * Runs the tasks of set-up-tasks.ts in a process of its own, which ends when it had nothing to do for a while: the
 * parent of all processes keeps none of the memory that they need.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SetUpTasks } from './set-up-tasks.ts'

export type SetUpRequest = {
  readonly id: number
  readonly task: keyof SetUpTasks
  readonly args: readonly unknown[]
}
export type SetUpReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly error: Error }

/** Longer than the steps of a start between two tasks. */
const IDLE_MS = 20_000

export type SetUp = SetUpTasks & {
  /** Ends the process; tasks that it runs fail. */
  readonly close: () => void
}

type Waiting = { readonly resolve: (value: never) => void; readonly reject: (error: Error) => void }

/** The process starts with this call, and again with the first task after its end. */
export function createSetUp(): SetUp {
  const waiting = new Map<number, Waiting>()
  let tasks = 0
  let idle: NodeJS.Timeout | undefined
  let running: ChildProcess | null = start()

  function start(): ChildProcess {
    const program = fileURLToPath(new URL('../../bin/sandbox-set-up.js', import.meta.url))
    if (!existsSync(program)) throw new Error(`${program} is not built: run npm run build`)
    // Values keep their types. A Ctrl-C of the terminal goes only to the supervisor, which stops everything in order.
    const child = fork(program, { serialization: 'advanced', detached: true })
    child.on('message', (reply: SetUpReply) => {
      const task = waiting.get(reply.id)
      waiting.delete(reply.id)
      if (waiting.size === 0) idle = setTimeout(close, IDLE_MS).unref()
      if (reply.ok) task?.resolve(reply.value as never)
      else task?.reject(reply.error)
    })
    const ended = (error: Error) => {
      if (running === child) end(error)
    }
    child.on('error', ended)
    child.on('exit', (code, signal) => ended(new Error(`the set-up process exited (${signal ?? `code ${code}`})`)))
    return child
  }

  function end(error: Error): void {
    clearTimeout(idle)
    running = null
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }

  function close(): void {
    running?.disconnect()
    end(new Error('the set-up was closed'))
  }

  function ask(task: keyof SetUpTasks, args: readonly unknown[]): Promise<never> {
    clearTimeout(idle)
    running ??= start()
    const child = running
    const request: SetUpRequest = { id: tasks++, task, args }
    return new Promise((resolve, reject) => {
      waiting.set(request.id, { resolve, reject })
      child.send(request)
    })
  }

  return {
    migrate: (...args) => ask('migrate', args),
    setUpChain: (...args) => ask('setUpChain', args),
    fundFaucet: (...args) => ask('fundFaucet', args),
    openAccounts: (...args) => ask('openAccounts', args),
    close,
  }
}
