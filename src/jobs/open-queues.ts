/** The producers of this process: opened on first use, and again after a failed first connection. */
import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '../core/errors.ts'
import type { QueueName } from '../core/registry.ts'
import type { Bull, BullQueue } from './bull.ts'

/** Longer than any healthy call; after this the queue counts as down. */
const DEADLINE_MS = 5_000

export type OpenQueues = {
  /**
   * Runs a call on a queue, in bounded time.
   *
   * @param deadlineMs for calls that do many operations
   * @throws Unavailable `queue_unavailable` for any failure of the back end
   */
  readonly on: <T>(name: QueueName, call: (queue: BullQueue) => Promise<T>, deadlineMs?: number) => Promise<T>
  readonly close: () => Promise<void>
}

export function openQueues(bull: Bull, onError: (error: unknown, fields: object) => void): OpenQueues {
  const queues = new Map<QueueName, Promise<BullQueue>>()

  function open(name: QueueName): Promise<BullQueue> {
    const known = queues.get(name)
    if (known !== undefined) return known
    const opening = bull.openQueue(name)
    queues.set(name, opening)
    opening.catch(() => queues.delete(name)) // The next caller tries again.
    return opening
  }

  return {
    on: (name, call, deadlineMs = DEADLINE_MS) => withDeadline(open(name).then(call), deadlineMs),
    async close() {
      const closing = [...queues].map(([queue, opening]) =>
        withDeadline(
          opening.then((opened) => opened.close()),
          DEADLINE_MS,
        ).catch((error: unknown) => onError(error, { queue })),
      )
      await Promise.all(closing)
    },
  }
}

async function withDeadline<T>(call: Promise<T>, deadlineMs: number): Promise<T> {
  const done = new AbortController()
  const late = delay(deadlineMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`no answer within ${deadlineMs} ms`)
  })
  late.catch(() => undefined) // Aborted below when the call was in time.
  try {
    return await Promise.race([call, late])
  } catch (cause) {
    throw new Unavailable('queue_unavailable', 'The job queue does not answer.', { cause })
  } finally {
    done.abort()
  }
}
