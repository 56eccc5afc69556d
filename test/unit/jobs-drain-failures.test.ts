/** Errors of passes, of searches and of leases: what else goes on, and that nothing is forgotten. */
import t from 'tap'
import { Unavailable, ValidationFailed } from '../../src/core/errors.ts'
import { fenceLost, stageDrain } from '../support/drain-stage.ts'

const MINUTE_MS = 60_000
const noNode = new Unavailable('rpc_unavailable', 'No node answers.')

t.test('an item whose pass fails rests, and others of its partition go on', async (t) => {
  const { time, work, began, hold } = stageDrain()
  work.add('7-acme-1').add('7-acme-2')
  hold('7')
  await time.pass(20)
  await began[0]?.fail(noNode)
  await began[1]?.end()
  hold('7')
  await time.pass(100)
  t.strictSame(
    began.map(({ item }) => item),
    ['7-acme-1', '7-acme-2', '7-acme-2'],
    'a search does not end its rest',
  )
  await time.pass(50)
  t.equal(began.at(-1)?.item, '7-acme-1', 'half of 250 ms after its failure')
})

t.test('an item that fails again and again rests ever longer, and each eighth failure is for operators', async (t) => {
  const { time, work, began, failures, hold } = stageDrain()
  work.add('7-acme-1')
  hold('7')
  await time.pass(20)
  const rests: number[] = []
  for (let n = 1; n <= 16; n += 1) {
    const failedAt = time.now()
    await began.at(-1)?.fail(noNode)
    for (; began.length === n; await time.pass(100)) hold('7') // As the sweeper does, when it is not kept.
    rests.push(time.now() - failedAt)
  }
  const expected = [125, 250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]
  t.ok(
    expected.every((rest, n) => Math.abs((rests[n] ?? 0) - rest) <= 110),
    JSON.stringify(rests),
  )
  t.strictSame(
    failures.filter(({ isFinal }) => isFinal).map(({ tries }) => tries),
    [8, 16],
  )
})

t.test('after the last try of an item its partition is not kept for it', async (t) => {
  const { time, work, began, hold } = stageDrain()
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(20)
  for (let n = 1; n <= 8; n += 1) {
    await began.at(-1)?.fail(noNode)
    await time.pass(n === 8 ? 2_100 : 5_100)
  }
  t.equal(held.outcome, 'nothing left')
})

t.test('a partition is kept until the next try of an item that failed, also when nothing else has work', async (t) => {
  const { time, work, began, hold } = stageDrain()
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(20)
  for (let n = 0; n < 7; n += 1) {
    t.equal(began.length, n + 1)
    await began[n]?.fail(noNode)
    work.clear()
    await time.pass(5_100)
  }
  t.equal(held.outcome, null)
  t.equal(began.length, 8)
  await began[7]?.end()
  await time.pass(2_100)
  t.equal(held.outcome, 'nothing left')
})

t.test('a partition with an item that failed is given back with work in it', async (t) => {
  const { time, work, began, stop, hold } = stageDrain()
  work.add('7-acme-1')
  const held = hold('7')
  await time.pass(20)
  await began[0]?.fail(noNode)
  stop.abort()
  await time.pass(1)
  t.equal(held.outcome, 'left')
})

t.test('an error that no retry removes is one for operators at once', async (t) => {
  const { time, work, began, failures, hold } = stageDrain()
  work.add('7-acme-1')
  hold('7')
  await time.pass(20)
  await began[0]?.fail(ValidationFailed.field('lane', 'malformed_job', 'It is none.'))
  t.strictSame(failures, [{ item: '7-acme-1', tries: 1, isFinal: true }])
})

t.test('a pass that ends well, or waits, begins the count of failures anew', async (t) => {
  const { time, drain, work, began, failures, hold } = stageDrain()
  work.add('7-acme-1')
  hold('7')
  await time.pass(20)
  for (const end of ['fail', 'fail', 'done', 'fail', 'waits', 'fail'] as const) {
    const pass = began.at(-1)
    if (end === 'fail') await pass?.fail(noNode)
    else await pass?.end(end)
    drain.wake(['7-acme-1'])
    await time.pass(300)
  }
  t.strictSame(
    failures.map(({ tries }) => tries),
    [1, 2, 1, 1],
  )
})

t.test(
  'an item that waits is tried after 1, 2, 4, 8 and then every 15 seconds, and within 250 ms of new work',
  async (t) => {
    const { time, drain, work, began, hold } = stageDrain()
    work.add('7-acme-1').add('7-acme-2')
    hold('7')
    const tries = () => began.filter(({ item }) => item === '7-acme-1')
    // The other item keeps the partition.
    await time.pass(15)
    for (let n = 0; n < 6; n += 1) {
      t.equal(tries().length, n + 1)
      await tries().at(-1)?.end('waits')
      const restMs = [1_000, 2_000, 4_000, 8_000, 15_000, 15_000][n] ?? 0
      drain.lookAgain()
      await time.pass(restMs - 20)
      t.equal(tries().length, n + 1, 'no search ends its rest')
      await time.pass(40)
    }
    await tries().at(-1)?.end('waits')
    drain.wake(['7-acme-1'])
    await time.pass(240)
    t.equal(tries().length, 7)
    await time.pass(30)
    t.equal(tries().length, 8, '250 ms after it was tried in vain')
    await tries().at(-1)?.end('waits')
    await time.pass(5_000)
    drain.wake(['7-acme-1'])
    await time.pass(20)
    t.equal(tries().length, 9, 'at once, as it rested for longer')
  },
)

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
  const { time, work, began, leases, failures, hold } = stageDrain({ atOnce: { ofGroup: 1, ofTenant: () => null } })
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
  await began[0]?.end('again')
  await time.pass(100)
  t.equal(began.length, 3, 'the end of the pass that hung means nothing')
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
