/** How many of its partitions a process keeps, with simulated time: made-up, dead and hanging processes among the others. */
import t from 'tap'
import { createShare, type Others } from '../../src/jobs/share.ts'
import { simulateTime } from '../support/simulated-time.ts'

const ALL = 16
const LOOK_MS = 5_000
const STEP_MS = 100

/** A process under load: it takes back what nobody else takes, as soon as that is not for others. */
function stage(others: Others) {
  const time = simulateTime()
  let held = ALL
  let taken = 0
  const drain = {
    held: () => held,
    keepOnly(most: number) {
      held = Math.min(held, most)
    },
  }
  const said = { ...others }
  const share = createShare({ partitions: ALL, drain, others: async () => said, time })
  return {
    said,
    share,
    held: () => held,
    take(many: number) {
      taken += many
    },
    /** @returns how long partitions were with nobody, in ms and partitions */
    async run(ms: number): Promise<number> {
      let idle = 0
      for (let at = 0; at < ms; at += STEP_MS) {
        if (at % LOOK_MS === 0) await share.look()
        if (!share.isForOthers()) held = ALL - taken
        idle += (ALL - taken - held) * STEP_MS
        await time.pass(STEP_MS)
      }
      return idle
    },
  }
}

t.test('alone it keeps all', async (t) => {
  const { run, share } = stage({ holders: 0, idle: 0 })
  t.equal(await run(60_000), 0)
  t.equal(share.living(), 1)
})

t.test('processes that take nothing get half for two seconds, ever more seldom', async (t) => {
  const { run, said } = stage({ holders: 0, idle: 1 })
  const first = await run(10_000)
  t.equal(first, 8 * 2_000)
  const minute = await run(600_000)
  t.ok(minute / 600_000 < 0.05 * ALL, `${(minute / 600_000).toFixed(2)} of ${ALL} partitions are with nobody`)
  said.idle = 0
  t.equal(await run(60_000), 0)
})

t.test('one that takes some is given its share at each look, and so is the next', async (t) => {
  const { run, said, share, take, held } = stage({ holders: 0, idle: 1 })
  await run(STEP_MS)
  t.equal(held(), 8)
  t.ok(share.isForOthers(), 'it takes no more now')
  take(8)
  Object.assign(said, { holders: 1 })
  await run(STEP_MS)
  t.strictSame([share.living(), held()], [3, 5], 'the third is tried at once')
  take(2)
  Object.assign(said, { holders: 2, idle: 0 })
  t.equal(await run(60_000), 0)
  t.equal(share.living(), 3)
})

t.test('four that hold four each make room for a fifth', async (t) => {
  const { run, said, take, held } = stage({ holders: 3, idle: 0 })
  take(12)
  await run(STEP_MS)
  t.equal(held(), 4)
  Object.assign(said, { idle: 1 })
  await run(STEP_MS)
  t.equal(held(), 3)
  take(1)
  Object.assign(said, { holders: 4, idle: 0 })
  t.equal(await run(60_000), 0)
})

t.test('when the others are gone it has all, whatever it gave', async (t) => {
  const { run, said, take } = stage({ holders: 1, idle: 0 })
  await run(STEP_MS)
  take(8)
  await run(10_000)
  Object.assign(said, { holders: 0 })
  take(-8)
  t.equal(await run(60_000), 0)
})

t.test('one that holds nothing does not count the others again', async (t) => {
  let asked = 0
  const others = async () => {
    asked += 1
    return { holders: 3, idle: 0 }
  }
  const share = createShare({ partitions: ALL, drain: { held: () => 0, keepOnly: () => undefined }, others })
  t.equal(share.living(), null)
  for (let n = 0; n < 3; n += 1) await share.look()
  t.strictSame([asked, share.living()], [1, 4])
})

t.end()
