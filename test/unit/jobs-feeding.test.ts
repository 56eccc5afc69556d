/** The two sources of jobs, with fakes at their ports only: the dispatcher behind the log, and the sweeper. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { dispatchEvents, type EventBatch } from '../../src/jobs/dispatch.ts'
import type { JobsLog } from '../../src/jobs/jobs.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { type SweepRound, sweep } from '../../src/jobs/sweep.ts'

type Requested = { readonly type: string; readonly lane: string }

const lane = (id: string): Job => ({ queue: 'lane', id, data: { lane: id } })
const routes = ({ type, lane: id }: Requested) => (type === 'TransferRequested' ? [lane(id)] : [])

/** A queue and a log that records calls in order. `answers` are the errors that each add throws, null for none. */
function scene(answers: (Error | null)[] = []) {
  const story: string[] = []
  const logged: string[] = []
  const log: JobsLog = { info: (_, text) => logged.push(text), warn: (_, text) => logged.push(text) }
  const jobs = {
    async add(added: readonly Job[]) {
      const error = answers.shift() ?? null
      story.push(`add ${added.map((job) => `${job.queue}/${job.id}`).join(' ')}${error ? ' refused' : ''}`)
      if (error) throw error
    },
  }
  async function* subscription(...batches: Requested[][]): AsyncGenerator<EventBatch<Requested>> {
    for (const [index, events] of batches.entries()) {
      yield {
        events,
        async commit() {
          story.push(`commit ${index}`)
        },
      }
    }
  }
  return { story, logged, log, jobs, subscription }
}

const requested = (...lanes: string[]): Requested[] => lanes.map((id) => ({ type: 'TransferRequested', lane: id }))
const running = () => new AbortController().signal

t.test('a batch becomes one bulk of distinct jobs, and is committed once they are in the queue', async (t) => {
  const { story, log, jobs, subscription } = scene()
  const batches: object[] = []
  const onBatch = (counts: object) => batches.push(counts)
  const read = subscription(requested('a', 'b', 'a'), [{ type: 'TransactionMined', lane: 'a' }], requested('a'))
  await dispatchEvents({ subscription: read, routes, jobs, log, onBatch, signal: running() })
  t.strictSame(story, ['add lane/a lane/b', 'commit 0', 'commit 1', 'add lane/a', 'commit 2'])
  t.strictSame(batches, [
    { events: 3, jobs: 2 },
    { events: 1, jobs: 0 },
    { events: 1, jobs: 1 },
  ])
})

t.test('while the queue is down the dispatcher waits with the same batch, and goes on by itself', async (t) => {
  const down = new Unavailable('queue_unavailable', 'The job queue does not answer.')
  const { story, logged, log, jobs, subscription } = scene([down, down])
  await dispatchEvents({
    subscription: subscription(requested('a'), requested('b')),
    routes,
    jobs,
    log,
    signal: running(),
  })
  t.strictSame(story, ['add lane/a refused', 'add lane/a refused', 'add lane/a', 'commit 0', 'add lane/b', 'commit 1'])
  t.equal(logged.length, 2)
})

t.test('a dispatcher stopped while the queue is down commits nothing', async (t) => {
  const stop = new AbortController()
  const { story, log, subscription } = scene()
  const jobs = {
    async add() {
      stop.abort()
      throw new Unavailable('queue_unavailable', 'The job queue does not answer.')
    },
  }
  await dispatchEvents({ subscription: subscription(requested('a')), routes, jobs, log, signal: stop.signal })
  t.strictSame(story, [])
})

t.test('an event whose route fails, or makes an invalid job, does not delay the others', async (t) => {
  const { story, logged, log, jobs, subscription } = scene()
  const fragile = (event: Requested) => {
    if (event.lane === 'bug') throw new Error('no such case')
    return event.lane === 'prose' ? [lane('not an id')] : routes(event)
  }
  const read = subscription(requested('a', 'bug', 'prose', 'b'))
  await dispatchEvents({ subscription: read, routes: fragile, jobs, log, signal: running() })
  t.strictSame(story, ['add lane/a lane/b', 'commit 0'])
  t.equal(logged.length, 2)
})

t.test('an error of the log ends the dispatcher, which then starts from the last commit', async (t) => {
  const { story, log, jobs } = scene()
  async function* broken(): AsyncGenerator<EventBatch<Requested>> {
    yield { events: requested('a'), commit: () => Promise.reject(new Error('database away')) }
    story.push('read on')
  }
  await t.rejects(dispatchEvents({ subscription: broken(), routes, jobs, log, signal: running() }), /database away/)
  t.strictSame(story, ['add lane/a'])
})

t.test('a sweep queues what every source finds, up to a limit for each, and logs the counts', async (t) => {
  const { story, log, jobs } = scene()
  const asked: number[] = []
  const three = async (limit: number) => {
    asked.push(limit)
    return ['a', 'b', 'c'].map(lane)
  }
  const sources = [
    { name: 'requested', find: three },
    { name: 'unsent', find: async () => [] },
  ]
  t.strictSame(await rounds(2, { sources, jobs, log, limit: 2 }), [
    { requested: 2, unsent: 0 },
    { requested: 2, unsent: 0 },
  ])
  t.strictSame(asked, [2, 2])
  t.strictSame(story, ['add lane/a lane/b', 'add lane/a lane/b'])
})

t.test('a source or a queue that fails is named and tried again in the next round, the others go on', async (t) => {
  const { logged, log, jobs } = scene([new Unavailable('queue_unavailable', 'down'), null])
  let looks = 0
  const flaky = async () => {
    looks += 1
    if (looks === 1) throw new Error('database away')
    return [lane('c')]
  }
  const sources = [
    { name: 'first', find: async () => [lane('a')] },
    { name: 'second', find: flaky },
    { name: 'third', find: async () => [lane('b')] },
  ]
  t.strictSame(await rounds(2, { sources, jobs, log }), [
    { first: null, second: null, third: 1 },
    { first: 1, second: 1, third: 1 },
  ])
  t.equal(logged.length, 2)
})

/** Runs this many rounds of a sweeper. */
async function rounds(
  count: number,
  settings: Omit<Parameters<typeof sweep>[0], 'signal' | 'pauseBetween' | 'onRound'>,
): Promise<SweepRound[]> {
  const stop = new AbortController()
  const made: SweepRound[] = []
  const onRound = (round: SweepRound) => {
    made.push(round)
    if (made.length === count) stop.abort()
  }
  await sweep({ ...settings, pauseBetween: async () => undefined, signal: stop.signal, onRound })
  return made
}
