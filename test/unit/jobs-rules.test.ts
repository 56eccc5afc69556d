/** The rules of the job layer without a back end: contents of a job, retries, back end URLs. */
import fc from 'fast-check'
import t from 'tap'
import { ValidationFailed } from '../../src/core/errors.ts'
import { backoffMs, DEFAULT_RETRIES } from '../../src/jobs/backoff.ts'
import { createErrorLog } from '../../src/jobs/create-jobs.ts'
import { postgresWiring } from '../../src/jobs/postgres.ts'
import { assertJob, type Job, parseJobData } from '../../src/jobs/queues.ts'
import { parseClusterUrl } from '../../src/jobs/redis.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('job data are a few short ids and nothing else', async (t) => {
  const data = { lane: '1000001:0x00000000000000000000000000000000000000aa', wallet_id: 'wal_1' }
  t.strictSame(parseJobData(data), data)
  t.strictSame(parseJobData({}), {})
  const nine = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`id${index}`, 'x']))
  const malformed = [null, undefined, 'wal_1', 5, ['wal_1'], { amount: 5 }, { id: '' }, { id: 'a b' }, { id: 'ä' }]
  for (const value of [...malformed, { id: 'x'.repeat(257) }, { id: { nested: 'x' } }, { id: null }, nine]) {
    const error = thrownBy(() => parseJobData(value))
    t.ok(error instanceof ValidationFailed, JSON.stringify(value))
    matchExactly(t, error, { retryable: false, items: [{ code: 'malformed_job' }] })
  }
})

t.test('a job has an id that can be read', async (t) => {
  const job = (id: string): Job => ({ queue: 'lane', id, data: {} })
  t.doesNotThrow(() => assertJob(job('1000001:0xaa')))
  for (const id of ['', 'two words', 'line\nbreak', 'x'.repeat(257)])
    t.throws(() => assertJob(job(id)), ValidationFailed)
})

t.test(
  'the wait before a further try is anywhere between nothing and a bound that doubles up to the cap',
  async (t) => {
    const failures = fc.integer({ min: 1, max: 1_000 })
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(failures, random, (failures, random) => {
        const wait = backoffMs(DEFAULT_RETRIES, failures, random)
        const bound = Math.min(DEFAULT_RETRIES.capMs, DEFAULT_RETRIES.baseMs * 2 ** (failures - 1))
        return Number.isInteger(wait) && wait >= 1 && wait <= bound
      }),
    )
    const half = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) =>
      backoffMs({ attempts: 9, baseMs: 100, capMs: 2_000 }, failures, 0.5),
    )
    t.strictSame(half, [50, 100, 200, 400, 800, 1_000, 1_000, 1_000])
  },
)

t.test('an outage is logged once in a while, with the number of errors in between', async (t) => {
  const lines: unknown[] = []
  let now = 0
  const warn = (fields: object, message: string) => lines.push({ ...fields, message })
  const report = createErrorLog({ info: warn, warn }, () => now)
  const down = new Error('down')
  for (now = 0; now < 15_000; now += 1_000) report(down, { queue: 'lane' })
  t.strictSame(lines, [
    { queue: 'lane', err: down, suppressed: 0, message: 'queue back end error' },
    { queue: 'lane', err: down, suppressed: 9, message: 'queue back end error' },
  ])
})

t.test('session options in a database URL are kept beside those that the queue needs', async (t) => {
  const connection = (url: string) => postgresWiring(url, () => undefined).producer()
  const off = '-c synchronous_commit=off -c search_path="bullmq"'
  const cases: [string, string, string][] = [
    ['postgres://u@h/d', 'postgres://u@h/d', off],
    ['postgres://u@h/d?options=-c%20a%3D1', 'postgres://u@h/d', `-c a=1 ${off}`],
    ['postgres://u@h/d?options=x&sslmode=require', 'postgres://u@h/d?sslmode=require', `x ${off}`],
    ['postgres://u@h/d?sslmode=require&options=x', 'postgres://u@h/d?sslmode=require', `x ${off}`],
    ['postgres://u@h/d?a=1&options=x&b=2', 'postgres://u@h/d?a=1&b=2', `x ${off}`],
  ]
  for (const [url, connectionString, options] of cases)
    t.match(connection(url), { options: { connectionString, options } }, url)
})

t.test('a cluster URL names its nodes, its login and whether it is encrypted; other URLs are no cluster', async (t) => {
  t.equal(parseClusterUrl('redis://h:6379'), null)
  t.equal(parseClusterUrl('rediss://u:p@h:6379/0'), null)
  t.strictSame(parseClusterUrl('redis+cluster://a:1,b:2'), { nodes: ['redis://a:1', 'redis://b:2'] })
  t.strictSame(parseClusterUrl('rediss+cluster://us%40er:p%3Aw@a:1/'), {
    nodes: ['rediss://a:1'],
    username: 'us@er',
    password: 'p:w',
    tls: {},
  })
  t.strictSame(parseClusterUrl('redis+cluster://:secret@a:1'), { nodes: ['redis://a:1'], password: 'secret' })
})

function thrownBy(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}
