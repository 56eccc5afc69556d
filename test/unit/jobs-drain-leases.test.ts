/** Leases of partitions that are lost, and passes that hang. */
import t from 'tap'
import { fenceLost, stageDrain } from '../support/drain-stage.ts'

const MINUTE_MS = 60_000

t.test('an append refused for its lease gives up that partition alone, as one with work in it', async (t) => {
  const { time, drain, work, began, leases, failures, hold } = stageDrain()
  work.add('7-acme-1').add('8-acme-1')
  const [lost, kept] = [hold('7'), hold('8')]
  await time.pass(20)
  leases.steal('work-7')
  await began.find(({ item }) => item === '7-acme-1')?.fail(fenceLost)
  await time.pass(20)
  t.equal(lost.outcome, 'left')
  t.equal(kept.outcome, null)
  t.equal(drain.held(), 1)
  t.strictSame(failures, [], 'the item is not at fault')
  t.ok(leases.held.has('work-7'), 'the lease of the other process stays')
})

t.test('leases are renewed three times in their duration, and a lost one gives up its partition alone', async (t) => {
  const { time, work, leases, hold } = stageDrain()
  work.add('7-acme-1').add('8-acme-1')
  const [lost, kept] = [hold('7'), hold('8')]
  await time.pass(3_050)
  t.strictSame(leases.renewals, ['work-7', 'work-8', 'work-7', 'work-8', 'work-7', 'work-8'])
  leases.steal('work-7')
  await time.pass(1_000)
  t.equal(lost.outcome, 'left')
  t.equal(kept.outcome, null)
})

t.test('a renewal that fails gives up nothing: the next one decides', async (t) => {
  const { time, work, leases, hold } = stageDrain()
  work.add('7-acme-1')
  const { acquire } = leases
  let isAway = true
  Object.assign(leases, {
    acquire: async (name: string) => {
      const lease = await acquire(name)
      return lease && { ...lease, renew: () => (isAway ? Promise.reject(new Error('no database')) : lease.renew()) }
    },
  })
  const held = hold('7')
  await time.pass(5_000)
  t.equal(held.outcome, null)
  isAway = false
  await time.pass(2_000)
  t.equal(held.outcome, null)
  leases.steal('work-7')
  await time.pass(2_000)
  t.equal(held.outcome, 'left')
})

t.test('a pass that hangs is reported after 3 minutes, and its partition and its room are free', async (t) => {
  const { time, drain, work, began, leases, failures, hold } = stageDrain({
    atOnce: { ofGroup: 1, ofTenant: () => null },
  })
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(20)
  work.add('8-acme-2')
  hold('8')
  await time.pass(3 * MINUTE_MS - 100)
  t.equal(held.outcome, null)
  await time.pass(2_000)
  t.equal(held.outcome, 'left')
  t.notOk(leases.held.has('work-7'), 'others take it at once')
  t.strictSame(failures, [{ item: '7-acme-1', tries: 1, isFinal: false }])
  t.equal(began.at(-1)?.item, '8-acme-2')
  await began.at(-1)?.end()
  await time.pass(3_000)
  hold('7')
  await time.pass(20)
  t.equal(began.length, 3)
  t.equal(began[2]?.item, '7-acme-1', 'it is tried again, under a new lease')
  await began[0]?.fail(new Error('late'))
  drain.wake(['7-acme-1'])
  await time.pass(100)
  t.equal(failures.length, 1, 'the end of the pass that hung means nothing')
  t.equal(began.length, 3, 'the new pass still runs')
})

t.test('while a pass under a lost lease runs, its item has no other pass, and then it has one', async (t) => {
  const { time, work, began, leases, hold } = stageDrain()
  work.add('7-acme-1')
  const first = hold('7')
  await time.pass(20)
  leases.steal('work-7')
  await time.pass(1_000)
  t.equal(first.outcome, 'left')
  leases.held.delete('work-7')
  const second = hold('7')
  await time.pass(10_000)
  t.equal(began.length, 1)
  t.equal(second.outcome, null, 'the partition is kept for it')
  work.clear()
  await began[0]?.fail(fenceLost)
  await time.pass(20)
  t.equal(began.length, 2)
  t.equal(second.outcome, null, 'the new lease is not lost')
  await began[1]?.end()
  await time.pass(2_100)
  t.equal(second.outcome, 'nothing left')
})

t.test(
  'a second job that takes the lease of a partition anew goes on with it, and the first gives it up',
  async (t) => {
    const { time, drain, work, began, leases, hold } = stageDrain()
    const { acquire } = leases
    let release: () => void = () => undefined
    Object.assign(leases, {
      acquire: async (name: string) => {
        const lease = await acquire(name)
        await new Promise<void>((resolve) => {
          release = resolve
        })
        return lease
      },
    })
    const first = hold('7')
    await time.settle()
    const answerFirst = release
    leases.held.delete('work-7')
    const second = hold('7')
    await time.settle()
    answerFirst()
    await time.settle()
    release()
    work.add('7-acme-1')
    await time.pass(100)
    t.equal(first.outcome, 'left')
    t.equal(second.outcome, null)
    t.equal(drain.held(), 1)
    t.equal(began[0]?.fence, leases.held.get('work-7'))
  },
)
