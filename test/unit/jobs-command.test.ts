/** The operator command for queues: arguments in, text or JSON and an exit code out. */
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import { QUEUE_NAMES } from '../../src/declarations.ts'
import type { FailedJob, Jobs } from '../../src/jobs/jobs.ts'
import { type JobsPort, jobsProgram } from '../../src/operator/jobs-program.ts'
import { runProgramLine } from '../support/cli.ts'
import { matchExactly } from '../support/match-exactly.ts'

const FAILED: FailedJob = {
  id: 'lane-1',
  data: { lane: 'lane-1' },
  reason: 'the node is away',
  at: 'at drainLane (drain-lane.ts:1:1)',
  attempts: 8,
  times: 2,
  failedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
}
const NONE = { waiting: 0, active: 0, delayed: 0, failed: 0 }
const LANE = { waiting: 12, active: 3, delayed: 4, failed: 5 }
const COUNTS = Object.fromEntries(
  QUEUE_NAMES.map((name) => [name, name === 'lane' ? LANE : NONE]),
) as unknown as Awaited<ReturnType<Jobs['counts']>>

/** Runs a command line on a queue with one failed job in `lane`. */
async function run(line: string, broken?: Error) {
  const asked: unknown[] = []
  const answer = async <T>(question: unknown, value: T): Promise<T> => {
    asked.push(question)
    if (broken) throw broken
    return value
  }
  const jobs: JobsPort = {
    counts: () => answer('counts', COUNTS),
    failed: (queue, { limit }) => answer(['failed', queue, limit], queue === 'lane' ? [FAILED] : []),
    retry: (queue, id) => answer(['retry', queue, id], id === FAILED.id),
    retryAll: (queue) => answer(['retryAll', queue], queue === 'lane' ? 1 : 0),
  }
  return {
    ...(await runProgramLine(
      jobsProgram((task) => task(jobs), QUEUE_NAMES),
      line,
    )),
    asked,
  }
}

t.test('counts shows every queue by state', async (t) => {
  const { code, out } = await run('counts')
  t.equal(code, 0)
  const [head, ...queues] = out.trim().split('\n')
  t.match(head, /^queue +waiting +active +delayed +failed/)
  t.ok(queues.some((line) => /^lane +12 +3 +4 +5/.test(line)))
  t.equal(queues.length, QUEUE_NAMES.length)
  t.strictSame(JSON.parse((await run('counts --json')).out), COUNTS)
})

t.test('failed shows why and where, of one queue or of all', async (t) => {
  const { code, out, asked } = await run('failed')
  t.equal(code, 0)
  t.strictSame(asked.length, QUEUE_NAMES.length)
  t.equal(
    out,
    'lane lane-1  2026-01-02T03:04:05.000Z  attempts 8, failed 2 times\n' +
      '  the node is away\n  at drainLane (drain-lane.ts:1:1)\n',
  )
  const limited = await run('failed lane --limit 5 --json')
  t.strictSame(limited.asked, [['failed', 'lane', 5]])
  t.strictSame(JSON.parse(limited.out), [{ queue: 'lane', ...FAILED }])
  t.equal((await run('failed submit')).out, 'no failed jobs\n')
})

t.test('retry queues one or all again, and its exit code says whether there was one', async (t) => {
  matchExactly(t, await run('retry lane lane-1'), {
    code: 0,
    out: '1 queued again\n',
    asked: [['retry', 'lane', 'lane-1']],
  })
  t.match(await run('retry lane nobody'), { code: 1, out: '0 queued again\n' })
  matchExactly(t, await run('retry lane --all --json'), { code: 0, asked: [['retryAll', 'lane']] })
  t.strictSame(JSON.parse((await run('retry lane --all --json')).out), { queue: 'lane', retried: 1 })
  t.match(await run('retry submit --all'), { code: 0, out: '0 queued again\n' })
})

t.test('wrong usage is explained, asks nothing of the queue, and exits with 2', async (t) => {
  const wrong: [string, RegExp][] = [
    ['', /^Usage: npm run jobs --/],
    ['purge', /unknown command 'purge'/],
    ['failed nowhere', /unknown queue: nowhere/],
    ['failed --limit 0', /--limit must be a number/],
    ['failed --limit x', /--limit must be a number/],
    ['failed --limit', /'--limit <number>' argument missing/],
    ['failed --unknown', /--unknown/],
    ['retry', /missing required argument 'queue'/],
    ['retry lane', /either an id or --all/],
    ['retry lane lane-1 --all', /either an id or --all/],
    ['retry --all', /missing required argument 'queue'/],
    ['retry lane a b', /too many arguments for 'retry'/],
  ]
  for (const [line, message] of wrong) {
    const { code, out, err, asked } = await run(line)
    t.strictSame([code, out, asked], [2, '', []], line)
    t.match(err, message)
  }
})

t.test('a queue that does not answer exits with 3; an unexpected error is not swallowed', async (t) => {
  const down = new Unavailable('queue_unavailable', 'The job queue does not answer.')
  t.match(await run('counts', down), { code: 3, err: 'The job queue does not answer.\n', out: '' })
  await t.rejects(run('counts', new RangeError('bug')), RangeError)
})
