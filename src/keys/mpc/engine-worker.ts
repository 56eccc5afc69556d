/**
 * The thread of an engine: runs the calls that it is sent, in their order, and wipes what it was sent and what it
 * answered. A trap of the engine ends the thread.
 */
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import { type EngineCall, runCalls } from './engine-calls.ts'
import { wipeBytes } from './wipe-bytes.ts'

const { niceness } = workerData as { readonly niceness: number }
// Linux takes 0 for the calling thread (setpriority(2)); elsewhere it would be the whole process.
if (niceness > 0 && process.platform === 'linux') setPriority(0, niceness)
const engine = createEngine()

parentPort?.on('message', ({ id, calls }: { readonly id: number; readonly calls: readonly EngineCall[] }) => {
  const results = runCalls(engine, calls)
  parentPort?.postMessage({ id, results })
  // Both threads have copies of their own: these are done with.
  wipeBytes(calls)
  wipeBytes(results)
})
