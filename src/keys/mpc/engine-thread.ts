/**
 * An engine in its own thread, so that the process stays responsive while it computes. When the thread ends, all
 * sessions and loaded shares in its memory are lost, and a new thread starts empty.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Unavailable } from '../../core/errors.ts'
import type { EngineCall, EngineResult } from './engine-calls.ts'

export type EngineThread = {
  /**
   * Runs calls in order; results come in the same order.
   *
   * @throws Unavailable `mpc_engine_ended` when the thread ended meanwhile
   */
  readonly run: (calls: readonly EngineCall[]) => Promise<readonly EngineResult[]>
  /** Increases with each restart of the thread: earlier share and session numbers are invalid then. */
  readonly generation: () => number
  readonly close: () => Promise<void>
}

type Waiting = { readonly resolve: (results: readonly EngineResult[]) => void; readonly reject: (error: Error) => void }

/**
 * Starts a thread on the first call; it runs until it is closed or traps.
 *
 * @param options.niceness scheduling niceness of the thread, 0 to 19. Linux only
 */
export function createEngineThread({ niceness = 0 }: { readonly niceness?: number } = {}): EngineThread {
  let worker: Worker | undefined
  let generation = 0
  let last = 0
  const waiting = new Map<number, Waiting>()

  function start(): Worker {
    generation += 1
    const thread = new Worker(new URL(`./engine-worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: { niceness },
    })
    thread.unref()
    thread.on('message', ({ id, results }: { readonly id: number; readonly results: readonly EngineResult[] }) => {
      waiting.get(id)?.resolve(results)
      waiting.delete(id)
      if (waiting.size === 0) thread.unref()
    })
    const ended = (cause?: unknown) => {
      if (worker === thread) worker = undefined
      for (const { reject } of waiting.values()) {
        reject(new Unavailable('mpc_engine_ended', 'The engine of the party stopped before it finished.', { cause }))
      }
      waiting.clear()
    }
    thread.on('error', ended)
    thread.on('exit', () => ended())
    return thread
  }

  return {
    run(calls) {
      worker ??= start()
      const thread = worker
      last += 1
      const id = last
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        thread.ref()
        thread.postMessage({ id, calls })
      })
    },
    generation: () => generation,
    async close() {
      await worker?.terminate()
    },
  }
}
