/** Jobs when their back end goes away, comes back, or comes back empty. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Job } from '../../src/jobs/queues.ts'
import { inEveryPlace, type JobPlace, openJobs, type Where } from '../support/job-places.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** At most one line per interval. */
const LOG_INTERVAL_MS = 10_000
const DOWN = { code: 'queue_unavailable', retryable: true }

function lane(id: string): Job {
  return { queue: 'lane', id, data: { lane: id } }
}

/** Counts runs; `hold` makes handlers wait until `release`. */
function recorder() {
  const ran = new Set<string>()
  let held: Promise<void> = Promise.resolve()
  let release: () => void = () => undefined
  return {
    ran,
    handler: async (_: unknown, { id }: { id: string }) => {
      ran.add(id)
      await held
    },
    hold: () => {
      held = new Promise((resolve) => {
        release = resolve
      })
    },
    release: () => release(),
  }
}

/** Adds jobs with new ids until one was taken and run: the queue works again. */
async function flows(jobs: { add: (jobs: Job[]) => Promise<void> }, ran: Set<string>, name: string): Promise<void> {
  await eventually(async () => {
    await jobs.add([lane(name)])
    return true
  })
  await eventually(() => ran.has(name))
}

async function stopping(t: Test, place: JobPlace, server: NonNullable<JobPlace['server']>): Promise<void> {
  await t.test('down at the start: callers get an error, and everything starts by itself once it is up', async (t) => {
    const where = await place.fresh()
    await server.stop()
    const jobs = openJobs(t, where)
    const { ran, handler } = recorder()
    jobs.process('lane', handler, { concurrency: 2 })
    await t.rejects(jobs.add([lane('a')]), DOWN)
    await t.rejects(jobs.ping(), DOWN)
    await t.rejects(jobs.counts(), DOWN)
    await server.start()
    await flows(jobs, ran, 'b')
    await jobs.ping()
  })

  await t.test('restarted in the middle: callers get an error, workers go on, running jobs end', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const { ran, handler, hold, release } = recorder()
    jobs.process('lane', handler, { concurrency: 1 })
    await flows(jobs, ran, 'before')
    hold()
    await flows(jobs, ran, 'during')
    await jobs.add([lane('waiting')])
    const since = performance.now()
    await server.stop()
    await t.rejects(jobs.add([lane('lost')]), DOWN)
    await t.rejects(jobs.ping(), DOWN)
    await server.start()
    release()
    if (place.isDurable) await eventually(() => ran.has('waiting'))
    ran.clear()
    await flows(jobs, ran, 'after')
    await flows(jobs, ran, 'during')
    await eventually(async () => {
      const { waiting, active, delayed, failed } = (await jobs.counts()).lane
      return waiting + active + delayed + failed === 0
    })
    const complaints = jobs.logged.filter((line) => line === 'queue back end error')
    const intervals = Math.floor((performance.now() - since) / LOG_INTERVAL_MS)
    t.ok(complaints.length <= 3 + intervals, `an outage logs few lines: ${complaints.length}`)
  })

  await t.test('down at the end: close returns', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const { ran, handler } = recorder()
    jobs.process('lane', handler, { concurrency: 2 })
    await flows(jobs, ran, 'a')
    await server.stop()
    await jobs.close()
    await server.start()
  })
}

async function losing(t: Test, place: JobPlace): Promise<void> {
  await t.test('emptied in the middle: workers go on, and a job of the same id can be added again', async (t) => {
    const where = await place.fresh()
    const jobs = openJobs(t, where)
    const { ran, handler, hold, release } = recorder()
    jobs.process('lane', handler, { concurrency: 1 })
    hold()
    await flows(jobs, ran, 'runs')
    await jobs.add([lane('runs'), lane('waits')])
    await place.empty(where)
    ran.clear()
    await jobs.add([lane('runs'), lane('waits'), lane('new')])
    release()
    await eventually(() => ran.size === 3)
    t.strictSame([...ran].sort(), ['new', 'runs', 'waits'])
  })

  await t.test('connections are cut again and again: workers go on', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const { ran, handler } = recorder()
    jobs.process('lane', handler, { concurrency: 2 })
    for (const round of ['first', 'second', 'third']) {
      await flows(jobs, ran, round)
      await place.cutConnections()
    }
    await flows(jobs, ran, 'last')
    t.equal(ran.size, 4)
  })
}

await inEveryPlace(t, async (t, place) => {
  if (place.server) await stopping(t, place, place.server)
  else process.stderr.write(`SKIPPED: outages of ${place.name}: its server is not ours to stop\n`)
  await losing(t, place)
})

await t.test('a back end that takes connections and never answers is down', async (t) => {
  const silent = createServer((socket) => socket.on('error', () => socket.destroy()).resume())
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const { port } = silent.address() as AddressInfo
  const places: Where[] = [
    { databaseUrl: `postgres://nobody@127.0.0.1:${port}/none` },
    { databaseUrl: 'postgres://not.used', redisUrl: `redis://127.0.0.1:${port}` },
  ]
  for (const where of places) {
    const jobs = openJobs(t, where)
    await t.rejects(jobs.add([lane('a')]), DOWN)
    await jobs.close()
  }
})
