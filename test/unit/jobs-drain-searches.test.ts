/** How a drain looks for work, and what it does when it cannot. */
import t from 'tap'
import { stageDrain } from '../support/drain-stage.ts'
import { simulateTime } from '../support/simulated-time.ts'

/** A search that a test answers. */
function answered() {
  const open: { readonly isStale: boolean; readonly answer: (items: string[]) => void }[] = []
  const find = (_: readonly string[], isStale: boolean) =>
    new Promise<string[]>((resolve) => open.push({ isStale, answer: resolve }))
  return { open, find }
}

t.test('one search finds the work of all partitions that were taken together', async (t) => {
  const { time, work, began, searches, hold } = stageDrain()
  work.add('7-acme-1').add('8-acme-1')
  for (const name of ['7', '8', '9']) hold(name)
  await time.pass(100)
  t.strictSame(searches, [{ partitions: ['7', '8', '9'], isStale: false }])
  t.equal(began.length, 2)
})

t.test('a job of the sweeper looks also for work that may be due again, in its partition alone and once', async (t) => {
  const { time, searches, drain, hold } = stageDrain()
  hold('7', true)
  hold('8')
  await time.pass(100)
  hold('8', true)
  await time.pass(100)
  drain.lookAgain()
  await time.pass(100)
  t.strictSame(searches, [
    { partitions: ['8'], isStale: false },
    { partitions: ['7'], isStale: true },
    { partitions: ['8'], isStale: true },
    { partitions: ['7', '8'], isStale: false },
  ])
})

t.test('after lost wake-ups it looks in all that it holds, and nowhere if it holds nothing', async (t) => {
  const { time, drain, work, began, searches, hold } = stageDrain()
  drain.lookAgain()
  await time.pass(100)
  t.strictSame(searches, [])
  hold('7')
  hold('8')
  await time.pass(100)
  work.add('8-acme-1')
  drain.lookAgain()
  await time.pass(100)
  t.equal(searches.length, 2)
  t.equal(began[0]?.item, '8-acme-1')
})

t.test('what is asked for during a search needs another one', async (t) => {
  for (const ask of ['wake-ups', 'job', 'stale job'] as const) {
    const { open, find } = answered()
    const { time, drain, hold } = stageDrain({ find })
    hold('7')
    await time.pass(10)
    if (ask === 'wake-ups') drain.lookAgain()
    else hold('7', ask === 'stale job')
    open[0]?.answer([])
    await time.pass(100)
    t.equal(open.length, 2, ask)
    t.equal(open[1]?.isStale, ask === 'stale job', ask)
  }
})

t.test('a partition is not given back while its work is looked for', async (t) => {
  const { open, find } = answered()
  const { time, began, hold } = stageDrain({ find })
  const held = hold('7')
  await time.pass(10_000)
  t.equal(held.outcome, null)
  open[0]?.answer(['7-acme-1'])
  await time.pass(10)
  t.equal(began.length, 1)
})

t.test('a partition that must be given back during a search is left', async (t) => {
  const { open, find } = answered()
  const { time, stop, began, hold } = stageDrain({ find })
  const held = hold('7')
  await time.pass(10)
  stop.abort()
  await time.pass(10)
  t.equal(held.outcome, 'left')
  open[0]?.answer(['7-acme-1'])
  await time.pass(100)
  t.equal(began.length, 0)
})

t.test('a search that fails is tried again after a second, with all that it was about', async (t) => {
  let isAway = true
  const asked: string[] = []
  const { time, drain, began, errors, hold } = stageDrain({
    async find(partitions, isStale) {
      asked.push(`${partitions}${isStale ? ' stale' : ''}`)
      if (isAway) throw new Error('no database')
      return ['7-acme-1']
    },
  })
  hold('7', true)
  await time.pass(500)
  for (let n = 0; n < 20; n += 1) {
    drain.wake([`7-acme-${n}`])
    drain.lookAgain()
    await time.pass(20)
  }
  t.strictSame(asked, ['7 stale'], 'new work does not hurry it')
  t.equal(errors.length, 1)
  isAway = false
  await time.pass(200)
  t.strictSame(asked, ['7 stale', '7 stale'])
  t.equal(began.length, 4, 'as many as there is room for')
})

t.test('when tenants cannot be read, what was woken is kept, and what is in line goes on', async (t) => {
  let isAway = false
  const { time, drain, work, began, errors, hold } = stageDrain({
    atOnce: { ofGroup: 1, ofTenant: () => null },
    async tenantsOf(items) {
      if (isAway) throw new Error('no database')
      return new Map(items.map((item) => [item, 'acme']))
    },
  })
  work.add('7-acme-1').add('7-acme-2')
  const held = hold('7')
  await time.pass(20)
  isAway = true
  drain.wake(['7-acme-3'])
  await time.pass(20)
  t.equal(errors.length, 1)
  await began[0]?.end()
  await time.pass(20)
  t.equal(began[1]?.item, '7-acme-2', 'it needs nothing that is away')
  await began[1]?.end()
  await time.pass(5_000)
  t.equal(errors.length, 6, 'once a second')
  t.equal(held.outcome, null)
  isAway = false
  await time.pass(1_000)
  t.equal(began[2]?.item, '7-acme-3')
})

t.test('a lease that cannot be taken or given back fails the job, which runs again', async (t) => {
  const { time, leases, drain, hold } = stageDrain()
  const { acquire } = leases
  Object.assign(leases, { acquire: () => Promise.reject(new Error('no database')) })
  const first = hold('7')
  await time.pass(10)
  t.match(first.outcome, /no database/)
  Object.assign(leases, { acquire })
  const second = hold('7')
  leases.beforeRelease = () => Promise.reject(new Error('no database'))
  await time.pass(3_000)
  t.match(second.outcome, /no database/)
  t.equal(drain.held(), 0)
  t.equal(time.pending(), 0)
})

t.test('nothing is done until a search that failed is tried again', async (t) => {
  const simulated = simulateTime()
  let calls = 0
  const time: typeof simulated = {
    ...simulated,
    after(inMs, callback) {
      calls += 1
      return simulated.after(inMs, callback)
    },
  }
  const { hold } = stageDrain({ time, find: () => Promise.reject(new Error('no database')) })
  hold('7')
  await time.pass(100)
  calls = 0
  await time.pass(800)
  t.equal(calls, 0)
})

t.test('work whose wake-up was lost is found in a partition that never is without work', async (t) => {
  const { time, work, began, hold } = stageDrain()
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(100)
  work.add('7-other-1')
  await time.pass(17_000)
  t.equal(held.outcome, null, 'no job of the partition can begin')
  t.ok(began.some(({ item }) => item === '7-other-1'))
})

t.test('of items named by more wake-ups than are kept, those with work are found by a search', async (t) => {
  const asked: number[] = []
  const { time, drain, work, began, searches, hold } = stageDrain({
    tenantsOf: async (items) => {
      asked.push(items.length)
      return new Map(items.flatMap((item) => (item.includes('acme') ? [[item, 'acme']] : [])))
    },
  })
  hold('7')
  await time.pass(100)
  const searchesBefore = searches.length
  work.add('7-acme-1')
  drain.wake([...Array.from({ length: 100_000 }, (_, n) => `7-nobody-${n}`), '7-acme-1'])
  await time.pass(100)
  t.ok(Math.max(...asked) <= 1_001, `${asked}`)
  t.equal(searches.length, searchesBefore + 1)
  t.equal(began[0]?.item, '7-acme-1')
})
