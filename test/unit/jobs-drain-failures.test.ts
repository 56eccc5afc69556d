/** Passes that fail or wait: when they are tried again, and what else goes on. */
import t from 'tap'
import { Unavailable, ValidationFailed } from '../../src/core/errors.ts'
import { stageDrain } from '../support/drain-stage.ts'

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

t.test(
  'an item that an operator retries is tried soon although it rests, whether its partition is held or not',
  async (t) => {
    const { time, work, began, hold } = stageDrain()
    work.add('7-acme-1').add('7-acme-2')
    const held = hold('7')
    await time.pass(20)
    for (let n = 0; n < 4; n += 1) {
      for (const pass of began.slice(-2)) await pass.end('waits')
      await time.pass(8_100)
      if (held.outcome !== null) hold('7')
      await time.pass(20)
    }
    for (const pass of began.slice(-2)) await pass.end('waits')
    await time.pass(5_000)
    const before = began.length
    hold('7', true, ['7-acme-1'])
    await time.pass(20)
    t.strictSame(
      began.slice(before).map(({ item }) => item),
      ['7-acme-1'],
      'the partition was taken for it',
    )
    await began.at(-1)?.end('waits')
    await time.pass(1_000)
    hold('7', true, ['7-acme-1'])
    await time.pass(20)
    t.equal(began.length, before + 2, 'the partition was held')
  },
)

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
