/** Partitions that are given back: what begins no more, and what is left. */
import t from 'tap'
import { fenceLost, stageDrain } from '../support/drain-stage.ts'

t.test('no pass begins while a partition is given back', async (t) => {
  const { time, drain, began, leases, hold } = stageDrain()
  let release: () => void = () => undefined
  leases.beforeRelease = () =>
    new Promise((resolve) => {
      release = resolve
    })
  const held = hold('7')
  await time.pass(2_100)
  drain.wake(['7-acme-1'])
  await time.pass(100)
  t.equal(began.length, 0)
  release()
  await time.pass(10)
  t.equal(held.outcome, 'left')
})

t.test('what waits in a partition that must be given back begins no more, and makes it left', async (t) => {
  const { time, drain, work, began, hold } = stageDrain({ atOnce: { ofGroup: 2, ofTenant: () => null } })
  work.add('7-acme-1').add('7-acme-2').add('7-acme-3')
  const held = hold('7')
  await time.pass(20)
  drain.keepOnly(0)
  await began[0]?.end()
  await time.pass(100)
  t.equal(began.length, 2)
  await began[1]?.end()
  await time.pass(10)
  t.equal(held.outcome, 'left')
})

t.test('a partition that must be given back is released at once, although another process asked for it', async (t) => {
  const { time, stop, leases, hold } = stageDrain()
  let releases = 0
  leases.beforeRelease = async () => {
    releases += 1
  }
  hold('7')
  await time.pass(100)
  leases.wanted.add('work-7')
  stop.abort()
  await time.pass(100)
  t.equal(releases, 1)
  t.equal(leases.held.size, 0)
})

t.test(
  'a process that stops takes no partition, and gives back those that it has when their passes ended',
  async (t) => {
    const { time, drain, work, began, leases, stop, hold } = stageDrain()
    work.add('7-acme-1')
    const [busy, idle] = [hold('7'), hold('8')]
    await time.pass(100)
    stop.abort()
    await time.pass(100)
    t.equal(idle.outcome, 'nothing left')
    t.equal(busy.outcome, null)
    leases.steal('work-9')
    const late = hold('9')
    drain.wake(['7-acme-2'])
    await time.pass(100)
    t.equal(late.outcome, 'left', 'its job was not done, nor asked for')
    t.strictSame(
      began.map(({ item }) => item),
      ['7-acme-1'],
      'no pass begins',
    )
    await began[0]?.end()
    await time.pass(10)
    t.equal(busy.outcome, 'left', 'new work arrived')
    t.strictSame([...leases.held.keys()], ['work-9'])
  },
)

t.test(
  'a process that stops while it gives a partition back keeps it no longer, although another asked for it',
  async (t) => {
    const { time, leases, stop, hold } = stageDrain()
    const held = hold('7')
    leases.beforeRelease = async () => stop.abort()
    await time.pass(1_000)
    leases.wanted.add('work-7')
    await time.pass(1_100)
    t.equal(held.outcome, 'left')
  },
)

t.test('a process that stops while it takes a partition gives it back with its work', async (t) => {
  const { time, leases, stop, began, hold } = stageDrain()
  const { acquire } = leases
  Object.assign(leases, {
    acquire: (name: string) => {
      stop.abort()
      return acquire(name)
    },
  })
  const held = hold('7')
  await time.pass(100)
  t.equal(held.outcome, 'left')
  t.equal(began.length, 0)
  t.equal(leases.held.size, 0)
})

t.test('one listener for each signal is enough for all partitions', async (t) => {
  const { time, drain, stop, hold } = stageDrain()
  let listeners = 0
  const add = stop.signal.addEventListener.bind(stop.signal)
  Object.assign(stop.signal, {
    addEventListener: (type: 'abort', listener: () => void) => {
      listeners += 1
      add(type, listener, { once: true })
    },
  })
  const all = [...'0123456789abcdef'].map((name) => hold(name))
  await time.pass(100)
  t.equal(drain.held(), 16)
  t.equal(listeners, 1)
  stop.abort()
  await time.pass(100)
  t.strictSame(new Set(all.map(({ outcome }) => outcome)), new Set(['nothing left']))
})

t.test(
  'a process that is to keep fewer partitions gives back those with the least work, while passes run',
  async (t) => {
    const { time, drain, work, began, hold } = stageDrain({ atOnce: { ofGroup: 2, ofTenant: () => null } })
    for (const item of ['7-acme-1', '7-acme-2', '7-acme-3', '8-acme-1']) work.add(item)
    const [seven, eight, nine] = [hold('7'), hold('8'), hold('9')]
    await time.pass(100)
    drain.keepOnly(1)
    await time.pass(100)
    t.equal(seven.outcome, null)
    t.equal(eight.outcome, 'left', 'its item waited for room')
    t.equal(nine.outcome, 'nothing left')
    for (const pass of began.slice(0, 2)) await pass.end()
    await time.pass(100)
    t.equal(began.at(-1)?.item, '7-acme-3')
    t.equal(began.length, 3)
  },
)

t.test('items of partitions that were given back take no room in the line', async (t) => {
  const { time, drain, work, began, hold } = stageDrain({ atOnce: { ofGroup: 2, ofTenant: () => null } })
  for (const item of ['7-acme-1', '7-acme-2', '8-acme-1', '8-acme-2', '8-acme-3', '7-acme-3']) work.add(item)
  hold('7')
  hold('8')
  await time.pass(100)
  t.equal(began.length, 2)
  drain.keepOnly(1)
  for (const pass of began.slice(0, 2)) await pass.end()
  await time.pass(20)
  t.equal(began.at(-1)?.item, '7-acme-3')
})

t.test('a partition that is taken again does the work that waited in its line once', async (t) => {
  const { time, drain, work, began, hold } = stageDrain({ atOnce: { ofGroup: 1, ofTenant: () => null } })
  work.add('8-acme-1').add('8-acme-2').add('7-acme-1')
  hold('8')
  const first = hold('7')
  await time.pass(100)
  drain.keepOnly(1)
  await time.pass(100)
  t.equal(first.outcome, 'left')
  hold('7')
  await time.pass(100)
  for (let n = 0; n < 3; n += 1) {
    await began[n]?.end()
    await time.pass(50)
  }
  t.strictSame(
    began.map(({ item }) => item),
    ['8-acme-1', '8-acme-2', '7-acme-1'],
  )
  t.not(began[2]?.fence, began[0]?.fence)
})

t.test('a slow pass keeps a partition that must be given back no longer than a holder that died', async (t) => {
  const { time, drain, work, began, leases, hold } = stageDrain()
  work.add('7-slow-1')
  const slow = hold('7')
  await time.pass(100)
  work.add('7-acme-1')
  drain.wake(['7-acme-1'])
  drain.keepOnly(0)
  await time.pass(2_900)
  t.equal(slow.outcome, null, 'it may end in time')
  await time.pass(200)
  t.equal(slow.outcome, 'left')
  t.notOk(leases.held.has('work-7'))
  const again = hold('7')
  await time.pass(20)
  t.strictSame(
    began.map(({ item }) => item),
    ['7-slow-1', '7-acme-1'],
    'the slow item has one pass at a time',
  )
  await began[0]?.fail(fenceLost)
  await time.pass(20)
  t.equal(began[2]?.item, '7-slow-1')
  t.equal(began[2]?.fence, leases.held.get('work-7'), 'under the new lease')
  t.equal(again.outcome, null)
})
