/**
 * The thread of an engine: runs calls in order, and wipes requests and answers. A trap of the engine ends the thread.
 */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import { type EngineCall, runCalls, wipeBytes } from './engine-calls.ts'

const { niceness } = workerData as { readonly niceness: number }
// On Linux 0 means the calling thread (setpriority(2)); elsewhere it would be the whole process.
if (niceness > 0 && process.platform === 'linux') setPriority(0, niceness)
const engine = createEngine()

parentPort?.on('message', ({ id, calls }: { readonly id: number; readonly calls: readonly EngineCall[] }) => {
  const results = runCalls(engine, calls)
  parentPort?.postMessage({ id, results })
  // Both threads have their own copies: these are no longer needed.
  wipeBytes(calls)
  wipeBytes(results)
})
