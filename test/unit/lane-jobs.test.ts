/** The jobs of lanes and partitions in one worker, with fakes of the queue, the leases and the database. */
import { setMaxListeners } from 'node:events'
import t from 'tap'
import type { Kernel } from '../../src/compose/kernel.ts'
import { workOnLanes } from '../../src/compose/lanes.ts'
import type { JobHandler } from '../../src/jobs/jobs.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { PARTITIONS, partitionOf } from '../../src/transactions/partitions.ts'

const LANE = `1-0x7${'0'.repeat(39)}`

/** A queue that runs as many jobs at once as its worker takes. */
function scene() {
  const failed: string[] = []
  const queued: Job[] = []
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const running = new Set<Promise<void>>()
  let handler: JobHandler = async () => undefined
  let most = 0
  const runNext = () => {
    while (running.size < most) {
      const job = queued.shift()
      if (job === undefined) return
      const run: Promise<void> = handler(job.data, { id: job.id, attempt: 1, signal: stop.signal })
        .catch(() => void failed.push(job.id))
        .finally(() => {
          running.delete(run)
          runNext()
        })
      running.add(run)
    }
  }
  const add = async (jobs: readonly Job[]) => {
    queued.push(...jobs)
    runNext()
  }
  const lease = { fence: 1n, renew: async () => true, release: async () => 'released' }
  const kernel = {
    config: { leaseMs: 10_000 },
    processName: 'signer',
    pool: { query: async () => ({ rows: [] }) },
    leases: { acquire: async (name: string) => ({ name, ...lease }) },
    jobs: {
      add,
      process(_queue: string, run: JobHandler, options: { readonly concurrency: number }) {
        handler = run
        most = options.concurrency
        return {
          takeAtMost: () => undefined,
          async close() {
            most = 0
            stop.abort()
            await Promise.all(running)
          },
        }
      },
    },
    wakeUps: { listen: () => () => undefined, announce: () => undefined },
    logger: { warn: () => undefined },
  }
  const worker = workOnLanes(kernel as unknown as Kernel, { queue: 'lane', pass: async () => 'done' })
  t.after(() => worker.close())
  return { add, failed, running }
}

t.test('a lane that failed becomes a failed job, also while the process holds all partitions', async (t) => {
  const { add, failed, running } = scene()
  await add(PARTITIONS.map((partition) => ({ queue: 'lane', id: partition, data: { partition } })))
  t.equal(running.size, PARTITIONS.length)
  const reason = Buffer.from('the node is away').toString('base64url')
  await add([{ queue: 'lane', id: LANE, data: { lane: LANE, reason } }])
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(failed, [LANE])
  t.equal(running.size, PARTITIONS.length, 'the partitions are still held')
})

t.test('a made-up lane of a chain id that no column can hold is in no partition', async (t) => {
  const address = LANE.slice(2)
  t.equal(partitionOf(`2147483647-${address}`), '7')
  for (const chainId of ['2147483648', '9'.repeat(400), '-1', '1e3', ''])
    t.equal(partitionOf(`${chainId}-${address}`), null)
})

t.end()
