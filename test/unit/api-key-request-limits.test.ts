/** How requests a day of an API key are counted by processes that share a database, with a time that the test sets. */
import t from 'tap'
import { createCountRequest, type Taken } from '../../src/access/request-limits.ts'
import { Unavailable } from '../../src/core/errors.ts'
import type { RequestLimit } from '../../src/core/key-limits.ts'

const MIDNIGHT = '2026-12-02T00:00:00.000Z'
const DAY_MS = 86_400_000
const of = (amount: number, counter = 'key_1 requests 86400'): RequestLimit => ({
  of: 'requests',
  counter,
  amount: `${amount}`,
  windowSeconds: 86_400,
})

/** As `take_requests`, with a clock that the test sets: ms since a midnight. */
function withDatabase() {
  const world = { nowMs: 0, queries: 0, answer: () => Promise.resolve() }
  const taken = new Map<string, number>()
  const take = async ({ counter, amount }: RequestLimit): Promise<Taken> => {
    world.queries += 1
    const day = `${Math.floor(world.nowMs / DAY_MS)} ${counter}`
    const before = taken.get(day) ?? 0
    const granted = Math.min(Math.max(Math.floor(Number(amount) / 100), 1), Math.max(Number(amount) - before, 0))
    taken.set(day, before + granted)
    const leftMs = DAY_MS - (world.nowMs % DAY_MS)
    await world.answer()
    return { granted, leftMs, endsAt: MIDNIGHT }
  }
  const timer = () => world.nowMs
  return { world, startProcess: () => createCountRequest({ take, timer }) }
}

const answers = async (
  count: ReturnType<typeof createCountRequest>,
  limits: readonly RequestLimit[],
  times: number,
) => {
  const all = await Promise.all(Array.from({ length: times }, () => count(limits)))
  return all.filter((refusal) => refusal === undefined).length
}

t.test('exactly the limit is let in by all processes, from few queries', async (t) => {
  const { world, startProcess } = withDatabase()
  const processes = [startProcess(), startProcess(), startProcess()]
  let letIn = 0
  for (let round = 0; round < 20; round += 1)
    for (const count of processes) letIn += await answers(count, [of(1_000)], 20)
  t.equal(letIn, 1_000)
  t.ok(world.queries <= 103, `${world.queries} queries`)
  t.match(await processes[0]?.([of(1_000)]), {
    code: 'key_limit',
    shortfall: { left: 0n, needed: 1n, availableAt: MIDNIGHT },
    details: {
      limit: '1000',
      left: '0',
      needed: '1',
      unit: 'requests',
      window_seconds: 86_400,
      available_at: MIDNIGHT,
    },
  })
  t.ok(world.queries <= 103, 'a refusal is remembered for the day')
})

t.test('what a process that ends had taken is lost: at most a hundredth', async (t) => {
  const { startProcess } = withDatabase()
  t.equal(await answers(startProcess(), [of(1_000)], 1), 1)
  t.equal(await answers(startProcess(), [of(1_000)], 2_000), 990)
})

t.test('a block is not used after its day, and a new day has a new allowance', async (t) => {
  const { world, startProcess } = withDatabase()
  const count = startProcess()
  world.nowMs = DAY_MS - 10
  t.equal(await answers(count, [of(300)], 1), 1)
  world.nowMs = DAY_MS
  t.equal(await answers(count, [of(300)], 400), 300, 'none of the two that were left of yesterday')
  world.nowMs = 2 * DAY_MS - 1
  t.equal(await answers(count, [of(300)], 1), 0)
  world.nowMs = 2 * DAY_MS
  t.equal(await answers(count, [of(300)], 1), 1)
})

t.test('an answer that arrives after midnight counts for the day before', async (t) => {
  const { world, startProcess } = withDatabase()
  const count = startProcess()
  world.nowMs = DAY_MS - 1
  world.answer = async () => {
    world.nowMs += 5
    world.answer = () => Promise.resolve()
  }
  t.equal(await answers(count, [of(5)], 20), 5, 'the one that was taken yesterday is lost')
})

t.test('a request counts on the limits of each key of its chain, or on none', async (t) => {
  const { startProcess } = withDatabase()
  const count = startProcess()
  const [own, makers] = [of(50, 'key_2 requests 86400'), of(10)]
  t.equal(await answers(count, [own, makers], 30), 10)
  t.equal(await answers(count, [own], 60), 40, 'refused requests took nothing of the own limit')
  t.equal(await answers(count, [own, makers], 1), 0)
})

t.test('a limit that is raised counts what was taken, and a database that is away refuses', async (t) => {
  const { world, startProcess } = withDatabase()
  const count = startProcess()
  t.equal(await answers(count, [of(3)], 9), 3)
  t.equal(await answers(count, [of(5)], 9), 2)
  t.equal(await answers(count, [of(3)], 9), 0)
  world.answer = () => Promise.reject(new Unavailable('database_unavailable', 'away'))
  await t.rejects(Promise.resolve(count([of(90)])), { code: 'database_unavailable' })
  world.answer = () => Promise.resolve()
  t.equal(await answers(count, [of(90)], 90), 84, 'an answer that is lost loses what was taken')
})
