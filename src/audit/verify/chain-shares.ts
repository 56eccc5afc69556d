/**
 * Recomputes every stream's hash chain in threads: each has its own connection to the same snapshot of the log, and a
 * share of the streams.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { BadEvent } from '../chain/chain-check.ts'
import type { Share } from '../chain/log-rows.ts'
import type { CheckedShare } from './check-share.ts'

/** The messages to and from a thread. */
export type ShareTask = {
  readonly connectionString: string
  readonly snapshot: string
  readonly share: Share
}
export type ShareMessage =
  | { readonly type: 'progress'; readonly events: number }
  | ({ readonly type: 'end' } & CheckedShare)
  | { readonly type: 'failed'; readonly error: unknown }

/**
 * @param snapshot from `pg_export_snapshot()`; its transaction must stay open while this runs
 * @throws database errors
 */
export async function checkChains(
  settings: { readonly connectionString: string; readonly snapshot: string; readonly threads: number },
  onProgress: (events: number) => void,
): Promise<CheckedShare> {
  const { connectionString, snapshot, threads } = settings
  const done = Array.from({ length: threads }, () => 0)
  const workers: Worker[] = []
  const shares = done.map((_, index) => {
    const task: ShareTask = { connectionString, snapshot, share: { index, of: threads } }
    const worker = new Worker(new URL(`./chain-thread${extname(import.meta.url)}`, import.meta.url), {
      workerData: task,
    })
    workers.push(worker)
    return endOf(worker, (events) => {
      done[index] = events
      onProgress(done.reduce((sum, each) => sum + each, 0))
    })
  })
  try {
    const ended = await Promise.all(shares)
    return {
      events: ended.reduce((sum, { events }) => sum + events, 0),
      bad: ended.flatMap((share) => share.bad).sort(byPlace),
      badEvents: ended.reduce((sum, { badEvents }) => sum + badEvents, 0),
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

/** Log order. */
export function byPlace(one: Pick<BadEvent, 'place'>, other: Pick<BadEvent, 'place'>): number {
  const [a, b] = [one.place, other.place]
  if (a.transactionId !== b.transactionId) return a.transactionId < b.transactionId ? -1 : 1
  return a.position < b.position ? -1 : 1
}

function endOf(worker: Worker, onProgress: (events: number) => void): Promise<CheckedShare> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: ShareMessage) => {
      if (message.type === 'progress') onProgress(message.events)
      else if (message.type === 'failed') reject(message.error)
      else resolve(message)
    })
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error('a verification thread ended before its work was complete')))
  })
}
