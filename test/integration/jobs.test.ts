/** Jobs are delivered, deduplicated, retried and given up in the same way on every back end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Conflict } from '../../src/core/errors.ts'
import { QUEUE_NAMES } from '../../src/declarations.ts'
import { createBull } from '../../src/jobs/bull.ts'
import { postgresWiring } from '../../src/jobs/postgres.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { redisWiring } from '../../src/jobs/redis.ts'
import { inEveryPlace, type JobPlace, openJobs, QUICK, type Where } from '../support/job-places.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const WORKER = fileURLToPath(new URL('../support/jobs-worker.ts', import.meta.url))

function lane(id: string): Job {
  return { queue: 'lane', id, data: { lane: id } }
}

/** A handler that waits until the test releases it, and its received jobs. */
function gate() {
  const came: string[] = []
  const waiting: (() => void)[] = []
  return {
    came,
    handler: async (_: unknown, { id, attempt }: { id: string; attempt: number }) => {
      came.push(`${id} ${attempt}`)
      await new Promise<void>((resolve) => waiting.push(resolve))
    },
    letGo: () => {
      for (const resolve of waiting.splice(0)) resolve()
    },
  }
}

async function delivery(t: Test, place: JobPlace): Promise<void> {
  await t.test('processes may start at the same moment where nothing is prepared', async (t) => {
    const where = await place.fresh()
    const starting = Array.from({ length: 5 }, () => openJobs(t, where))
    await Promise.all(starting.map((jobs) => jobs.ping()))
    const [first] = starting
    t.ok(allZero(first ? await first.counts() : {}))
  })

  await t.test('every job of a bulk is run in its queue, whatever the order', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const wanted = QUEUE_NAMES.flatMap((queue) =>
      Array.from({ length: queue === 'lane' ? 700 : 50 }, (_, index) => ({
        queue,
        id: `${queue}:${index}`,
        data: { n: `${index}` },
      })),
    )
    const ran = new Map<string, number>()
    for (const queue of QUEUE_NAMES) {
      const handler = async (data: unknown, { id }: { id: string }) => {
        const key = JSON.stringify({ queue, id, data })
        ran.set(key, (ran.get(key) ?? 0) + 1)
      }
      jobs.process(queue, handler, { concurrency: 8 })
    }
    await jobs.add(wanted)
    await eventually(() => ran.size >= wanted.length)
    t.strictSame([...ran.keys()].sort(), wanted.map((job) => JSON.stringify(job)).sort())
    const again = [...ran.values()].reduce((sum, runs) => sum + runs - 1, 0)
    t.ok(again <= lostLocks(jobs), `${again} ran once more, ${lostLocks(jobs)} locks were lost`)
    t.strictSame(await eventually(async () => allZero(await jobs.counts())), true, 'completed jobs are removed')
  })

  await t.test('a waiting job is added only once', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    await jobs.add([lane('a'), lane('b'), lane('a')])
    await jobs.add([lane('b'), lane('a'), { queue: 'submit', id: 'a', data: {} }])
    const { lane: lanes, submit } = await jobs.counts()
    t.strictSame([lanes.waiting, submit.waiting], [2, 1])
  })

  await t.test('the oldest job of a queue is reported, whatever it waits for', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    t.equal(await jobs.oldest('lane'), null)
    const before = Date.now()
    for (const id of ['a', 'b', 'c']) {
      await jobs.add([lane(id)])
      await sleep(2) // Their times are whole milliseconds.
    }
    const oldest = await jobs.oldest('lane')
    t.match(oldest, { id: 'a', state: 'waiting', attempts: 0 })
    t.ok((oldest?.addedAt ?? 0) >= before - 1_000, 'the oldest job has the time when it was added')
    const { came, handler, letGo } = gate()
    jobs.process('lane', handler, { concurrency: 1 })
    await eventually(() => came.length === 1)
    t.match(await jobs.oldest('lane'), { id: 'a', state: 'active' })
    for (const id of ['b', 'c']) {
      letGo()
      await eventually(() => came.includes(`${id} 1`))
    }
    letGo()
    t.equal(await eventually(async () => (await jobs.oldest('lane')) === null), true)
  })

  await t.test('a job that is added while it runs is run once more after it, so that nothing is missed', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const { came, handler, letGo } = gate()
    jobs.process('lane', handler, { concurrency: 4 })
    await jobs.add([lane('a')])
    await eventually(() => came.length === 1)
    for (let times = 0; times < 3; times += 1) await jobs.add([lane('a')])
    t.strictSame((await jobs.counts()).lane.active, 1, 'the job does not run twice at the same time')
    letGo()
    await eventually(() => came.length >= 2)
    await eventually(async () => {
      letGo()
      return allZero(await jobs.counts())
    })
    t.ok(came.length <= 2 + lostLocks(jobs), `it ran ${came.length} times`)
  })
}

async function closing(t: Test, place: JobPlace): Promise<void> {
  await t.test('close takes no more jobs and waits for those that run', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    const { came, handler, letGo } = gate()
    const worker = jobs.process('lane', handler, { concurrency: 1 })
    await jobs.add([lane('a'), lane('b')])
    await eventually(() => came.length === 1)
    let isClosed = false
    const closed = worker.close().then(() => {
      isClosed = true
    })
    await jobs.ping()
    t.equal(isClosed, false)
    letGo()
    await closed
    t.strictSame((await jobs.counts()).lane, { waiting: 1, active: 0, delayed: 0, failed: 0 })
    t.equal(came.length, 1)
  })

  await t.test('close tells handlers to end, and does not wait longer than the grace time', async (t) => {
    const jobs = openJobs(t, await place.fresh(), { graceMs: 100 })
    const { letGo, handler } = gate()
    let signal: AbortSignal | undefined
    const worker = jobs.process(
      'lane',
      (data, context) => {
        signal = context.signal
        return handler(data, context)
      },
      { concurrency: 1 },
    )
    await jobs.add([lane('a')])
    await eventually(() => signal)
    await worker.close()
    t.equal(signal?.aborted, true)
    matchExactly(t, jobs.logged, ['handlers did not stop within the grace period; their jobs will run again'])
    letGo()
  })
}

async function failing(t: Test, place: JobPlace): Promise<void> {
  await t.test(
    'a job that fails is tried again a bounded number of times, then an operator sees why and where',
    async (t) => {
      const jobs = openJobs(t, await place.fresh())
      const tries: number[] = []
      let isHealed = false
      const handler = async (_: unknown, { attempt }: { attempt: number }) => {
        tries.push(attempt)
        if (!isHealed) throw new Error('the node is away')
      }
      jobs.process('lane', handler, { concurrency: 1 })
      await jobs.add([lane('a')])
      const [failure] = await eventually(async () => atLeastOne(await jobs.failed('lane', { limit: 10 })))
      t.strictSame(
        tries,
        Array.from({ length: QUICK.attempts }, (_, index) => index + 1),
      )
      t.match(failure, { id: 'a', data: { lane: 'a' }, reason: 'the node is away', attempts: QUICK.attempts, times: 1 })
      t.match(failure?.at, /^at handler .*jobs\.test\.ts/)

      await jobs.add([lane('a')])
      await eventually(async () => (await jobs.failed('lane', { limit: 10 }))[0]?.times === 2)
      t.equal(await jobs.retry('lane', 'b'), false, 'an unknown failed job cannot be retried')
      isHealed = true
      tries.length = 0
      t.equal(await jobs.retry('lane', 'a'), true)
      await eventually(async () => allZero(await jobs.counts()))
      t.strictSame(tries, [1], 'a retried job runs once and has all its attempts again')
    },
  )

  await t.test('a job waits before it is tried again, and does not hold others up', async (t) => {
    const jobs = openJobs(t, await place.fresh(), { retries: { attempts: 2, baseMs: 3_600_000, capMs: 3_600_000 } })
    const ran: string[] = []
    const handler = async (_: unknown, { id }: { id: string }) => {
      ran.push(id)
      if (id === 'bad') throw new Error('not now')
    }
    jobs.process('lane', handler, { concurrency: 1 })
    await jobs.add([lane('bad'), lane('good')])
    await eventually(async () => ran.includes('good') && (await jobs.counts()).lane.delayed === 1)
    t.strictSame(ran.sort(), ['bad', 'good'])
  })

  await t.test('a final refusal and a malformed job are not retried', async (t) => {
    const where = await place.fresh()
    const jobs = openJobs(t, where)
    const ran: string[] = []
    const handler = async (_: unknown, { id }: { id: string }) => {
      ran.push(id)
      throw new Conflict('wallet_archived', 'The wallet is archived.')
    }
    jobs.process('lane', handler, { concurrency: 1 })
    await jobs.add([lane('refused')])
    await addRaw(where, 'amount', { amount: 5 })
    await addRaw(where, 'list', ['not', 'an', 'object'])
    await eventually(async () => (await jobs.counts()).lane.failed === 3)
    const failures = await jobs.failed('lane', { limit: 10 })
    t.strictSame(ran, ['refused'], 'a malformed job is not run, and a refused job runs once')
    const reasons = new Map(failures.map(({ id, reason }) => [id, reason]))
    t.equal(reasons.get('refused'), 'wallet_archived: The wallet is archived.')
    t.match(reasons.get('amount'), /^malformed_job: Malformed job: amount must be an id/)
    t.match(reasons.get('list'), /^malformed_job: Malformed job: job data must be an object/)
    t.strictSame((await jobs.failed('lane', { limit: 1 })).length, 1)
    t.equal(await jobs.retryAll('lane'), 3)
    await eventually(async () => ran.length === 2 && (await jobs.counts()).lane.failed === 3)
  })

  await t.test('a job whose data are not all ids is refused', async (t) => {
    const jobs = openJobs(t, await place.fresh())
    await t.rejects(jobs.add([lane('fine'), { queue: 'lane', id: 'two words', data: {} }]), {
      code: 'validation_failed',
    })
    t.ok(allZero(await jobs.counts()))
  })
}

async function dying(t: Test, place: JobPlace): Promise<void> {
  await t.test('the jobs of a killed worker are run by another one', async (t) => {
    const where = await place.fresh()
    const jobs = openJobs(t, where)
    const args = ['--import', 'tsx', WORKER, where.databaseUrl, where.redisUrl ?? '']
    const victim = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const held: string[] = []
    victim.stdout.on('data', (chunk: Buffer) => held.push(...chunk.toString().split('\n').filter(Boolean)))
    await jobs.add([lane('a'), lane('b')])
    await eventually(() => held.length === 2)
    victim.kill('SIGKILL')
    await once(victim, 'exit')

    const ran: string[] = []
    const handler = async (_: unknown, { id, attempt }: { id: string; attempt: number }) => {
      ran.push(`${id} ${attempt}`)
    }
    jobs.process('lane', handler, { concurrency: 1 })
    await eventually(async () => allZero(await jobs.counts()))
    t.strictSame(ran.sort(), ['a 1', 'b 1'], 'the death of a worker is not a failed attempt')
  })
}

/** A worker that cannot renew its lock on a busy machine loses the job and logs it: nothing else runs twice. */
function lostLocks({ logged }: { readonly logged: readonly string[] }): number {
  return logged.filter((text) => text.startsWith('a worker died or hung')).length
}

function allZero(counts: Readonly<Record<string, object>>): boolean {
  return Object.values(counts).every((states) => Object.values(states).every((count) => count === 0))
}

function atLeastOne<T>(list: readonly T[]): readonly T[] | null {
  return list.length > 0 ? list : null
}

/** Writes data into a queue that Bursar never would. */
async function addRaw({ databaseUrl, redisUrl }: Where, id: string, data: unknown): Promise<void> {
  const ignore = () => undefined
  const bull = redisUrl
    ? createBull(redisWiring(redisUrl, 1, ignore), ignore)
    : createBull(postgresWiring(databaseUrl, ignore), ignore)
  const queue = await bull.openQueue('lane')
  await queue.addBulk([{ name: 'lane', data, opts: { deduplication: { id }, attempts: 8, backoff: 1 } }])
  await queue.close()
  await bull.close()
}

await inEveryPlace(t, async (t, place) => {
  await delivery(t, place)
  await closing(t, place)
  await failing(t, place)
  await dying(t, place)
})
