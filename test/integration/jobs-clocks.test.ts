/** Jobs whose times come from a machine with a clock an hour ahead: they are not delayed for that hour. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { inEveryPlace, openJobs, QUICK, type Where } from '../support/job-places.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const WORKER = fileURLToPath(new URL('../support/jobs-worker.ts', import.meta.url))
const HOUR_MS = 3_600_000
/** Enough that a worker does not use them up before it is killed. */
const RETRIES = { ...QUICK, attempts: 1_000 }

/** A worker with a wrong clock takes the job and dies while running it, or after failing it. */
async function leaveToDie(where: Where, then: 'hold' | 'fail', until: () => Promise<boolean>): Promise<void> {
  const args = ['--import', 'tsx', WORKER, where.databaseUrl, where.redisUrl ?? '', String(HOUR_MS), then]
  const worker = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(worker.stdout, 'data')
  await eventually(until)
  worker.kill('SIGKILL')
  await once(worker, 'exit')
}

/** The job is only touched by the check for stuck jobs. */
async function mustRun(t: Test, jobs: ReturnType<typeof openJobs>): Promise<void> {
  let runs = 0
  const handler = async () => {
    runs += 1
  }
  jobs.process('lane', handler, { concurrency: 1 })
  await eventually(async () => {
    await jobs.unstick()
    return runs > 0
  })
  t.equal(runs, 1)
}

await inEveryPlace(t, async (t, place) => {
  for (const [rule, then, state] of [
    ['a retry that is due in an hour by the clock of who failed it comes at once', 'fail', 'delayed'],
    ['a job that a dead worker holds for an hour by its own clock is run by another', 'hold', 'active'],
  ] as const) {
    await t.test(rule, async (t) => {
      const where = await place.fresh()
      const jobs = openJobs(t, where, { retries: RETRIES })
      await jobs.add([{ queue: 'lane', id: 'a', data: { lane: 'a' } }])
      await leaveToDie(where, then, async () => (await jobs.counts()).lane[state] === 1)
      await mustRun(t, jobs)
    })
  }

  await t.test('a retry that waits in its time is left alone', async (t) => {
    const jobs = openJobs(t, await place.fresh(), { retries: { attempts: 5, baseMs: 60_000, capMs: 60_000 } })
    const handler = async () => {
      throw new Error('not yet')
    }
    jobs.process('lane', handler, { concurrency: 1 })
    await jobs.add([{ queue: 'lane', id: 'a', data: { lane: 'a' } }])
    await eventually(async () => (await jobs.counts()).lane.delayed === 1)
    t.strictSame([await jobs.unstick(), await jobs.unstick()], [0, 0])
  })
})
