/** Work on the items of held partitions, with simulated time. */
import t from 'tap'
import { stageDrain } from '../support/drain-stage.ts'

t.test('an item has one pass at a time, and work that arrives during its pass gives it exactly one more', async (t) => {
  const { time, drain, work, began, running, hold } = stageDrain()
  work.add('7-acme-1')
  hold('7')
  await time.pass(100)
  t.strictSame(running(), ['7-acme-1'])
  for (let n = 0; n < 5; n += 1) {
    drain.wake(['7-acme-1'])
    await time.pass(50)
  }
  t.equal(began.length, 1, 'no second pass while the first runs')
  await began[0]?.end()
  await time.pass(100)
  t.equal(began.length, 2, 'the work of all wake-ups')
  await began[1]?.end()
  await time.pass(1_000)
  t.equal(began.length, 2)
})

t.test('a partition without work is kept for two seconds, and then given back', async (t) => {
  const { time, drain, work, began, leases, hold } = stageDrain()
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(20)
  work.clear()
  await began[0]?.end()
  await time.pass(1_900)
  drain.wake(['7-acme-2'])
  await time.pass(100)
  t.equal(began[1]?.item, '7-acme-2', 'a wake-up needs no job while it is kept')
  await began[1]?.end()
  await time.pass(1_990)
  t.equal(held.outcome, null)
  await time.pass(20)
  t.equal(held.outcome, 'nothing left')
  t.equal(leases.held.size, 0)
  t.equal(drain.held(), 0)
  t.equal(time.pending(), 0, 'nothing more is to be done later')
})

t.test('an item that may do more at once gets another pass, after the others that wait', async (t) => {
  const { time, work, began, hold } = stageDrain({ atOnce: { ofGroup: 1, ofTenant: () => null } })
  work.add('7-acme-1').add('7-acme-2')
  hold('7')
  await time.pass(100)
  await began[0]?.end('again')
  await time.pass(100)
  t.strictSame(
    began.map(({ item }) => item),
    ['7-acme-1', '7-acme-2'],
  )
  await began[1]?.end()
  await time.pass(100)
  t.equal(began[2]?.item, '7-acme-1')
})

t.test('work that arrives while a partition is given back makes it left', async (t) => {
  const { time, drain, leases, hold } = stageDrain()
  leases.beforeRelease = async () => drain.wake(['7-acme-1'])
  const held = hold('7')
  await time.pass(3_000)
  t.equal(held.outcome, 'left')
})

t.test('a job that arrives while a partition is given back makes it left', async (t) => {
  const { time, leases, hold } = stageDrain()
  leases.beforeRelease = async () => {
    hold('7', true)
  }
  const held = hold('7')
  await time.pass(3_000)
  t.equal(held.outcome, 'left')
})

t.test('a wake-up whose tenant is not known yet keeps its partition', async (t) => {
  let answer: () => void = () => undefined
  const { time, drain, began, hold } = stageDrain({
    tenantsOf: (items) =>
      new Promise((resolve) => {
        answer = () => resolve(new Map(items.map((item) => [item, 'acme'])))
      }),
  })
  const held = hold('7')
  await time.pass(1_990)
  drain.wake(['7-acme-1'])
  await time.pass(5_000)
  t.equal(held.outcome, null)
  answer()
  await time.pass(20)
  t.equal(began.length, 1)
})

t.test('an item that is not for this drain has no pass, and keeps no partition', async (t) => {
  const { time, drain, began, hold } = stageDrain({ tenantsOf: async () => new Map() })
  const held = hold('7')
  await time.pass(10)
  drain.wake(['7-acme-1', 'no name', '8-acme-1'])
  await time.pass(3_000)
  t.equal(began.length, 0)
  t.equal(held.outcome, 'nothing left')
})

t.test('a partition that another process has is left to it, and its job asks that process to look again', async (t) => {
  const { time, leases, searches, hold } = stageDrain()
  leases.steal('work-7')
  const held = hold('7')
  await time.pass(100)
  t.equal(held.outcome, 'taken')
  t.equal(searches.length, 0)
  t.ok(leases.wanted.has('work-7'))
})

t.test('a partition that another process asked for is looked at once more before it is given back', async (t) => {
  const { time, work, leases, began, searches, hold } = stageDrain()
  const held = hold('7')
  await time.pass(1_000)
  leases.wanted.add('work-7')
  work.add('7-acme-1')
  await time.pass(1_100)
  t.equal(held.outcome, null)
  t.equal(searches.length, 2)
  t.equal(began.length, 1, 'its lost work is found')
  work.clear()
  await began[0]?.end()
  await time.pass(2_100)
  t.equal(held.outcome, 'nothing left')
})
