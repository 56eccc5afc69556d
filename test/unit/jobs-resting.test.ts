/** When an item is tried again, with simulated time. */
import t from 'tap'
import { createResting } from '../../src/jobs/resting.ts'
import { simulateTime } from '../support/simulated-time.ts'

function stage(random?: () => number) {
  const time = simulateTime(random)
  const due: string[] = []
  return { time, due, resting: createResting(time, (item) => due.push(`${time.now()} ${item}`)) }
}

t.test('an item that waits rests 1 s, twice as long each time, and at most 15 s', async (t) => {
  const { time, due, resting } = stage()
  for (let n = 0; n < 6; n += 1) {
    resting.waits('a')
    t.ok(resting.isResting('a'))
    await time.pass([1_000, 2_000, 4_000, 8_000, 15_000, 15_000][n] ?? 0)
    t.notOk(resting.isResting('a'))
  }
  t.strictSame(due, ['1000 a', '3000 a', '7000 a', '15000 a', '30000 a', '45000 a'])
})

t.test('an item that fails rests for a random time that grows, so that items which failed together part', async (t) => {
  const draws = [0.2, 0.9, 0.2, 0.9]
  const { resting } = stage(() => draws.shift() ?? 0)
  t.strictSame(
    ['a', 'b', 'a', 'b'].map((item) => resting.failed(item)),
    [
      { tries: 1, pauseMs: 50 },
      { tries: 1, pauseMs: 225 },
      { tries: 2, pauseMs: 100 },
      { tries: 2, pauseMs: 450 },
    ],
  )
})

t.test('new work shortens a rest to 250 ms, and one that is over may be tried at once', async (t) => {
  const { time, due, resting } = stage()
  t.ok(resting.mayTry('a'), 'it never rested')
  resting.waits('a')
  await time.pass(100)
  t.notOk(resting.mayTry('a'))
  t.notOk(resting.mayTry('a'), 'more work does not lengthen it')
  await time.pass(149)
  t.strictSame(due, [])
  await time.pass(1)
  t.strictSame(due, ['250 a'])
  t.ok(resting.mayTry('a'))
  resting.waits('a')
  await time.pass(1_900)
  t.ok(resting.mayTry('a'), 'it was tried long ago')
})

t.test('new work lengthens no rest, and changes no count', async (t) => {
  const { time, due, resting } = stage(() => 0.04)
  resting.failed('a')
  await time.pass(5)
  t.notOk(resting.mayTry('a'))
  await time.pass(5)
  t.strictSame(due, ['10 a'])
  t.equal(resting.failed('a').tries, 2)
})

t.test('what was forgotten rests no more, is not called back for, and begins anew', async (t) => {
  const { time, due, resting } = stage()
  resting.waits('a')
  resting.waits('a')
  resting.forget('a')
  t.notOk(resting.isResting('a'))
  t.ok(resting.mayTry('a'))
  await time.pass(20_000)
  t.strictSame(due, [])
  t.equal(time.pending(), 0)
  resting.waits('a')
  await time.pass(1_000)
  t.strictSame(due, ['21000 a'])
})

t.test('waiting and failing are counted apart', async (t) => {
  const { resting } = stage()
  resting.failed('a')
  resting.failed('a')
  resting.waits('a')
  t.equal(resting.failed('a').tries, 1)
})
