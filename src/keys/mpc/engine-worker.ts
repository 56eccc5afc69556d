/** The thread of an engine: runs the calls that it is sent, in their order. A trap of the engine ends the thread. */
import { parentPort } from 'node:worker_threads'
import { createEngine } from './engine.ts'
import { type EngineCall, runCalls } from './engine-calls.ts'

const engine = createEngine()

parentPort?.on('message', ({ id, calls }: { readonly id: number; readonly calls: readonly EngineCall[] }) => {
  parentPort?.postMessage({ id, results: runCalls(engine, calls) })
})
