/** Callers who share a question do not wait long for the one with which whoever answers is slow. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { gathering } from '../../src/core/gathering.ts'

const MS = 20
const SLOW = 13

type Says = (keys: readonly number[], n: number) => Promise<readonly (number | null)[]>

const doubled = (keys: readonly number[]) => keys.map((key) => key * 2)
const never = () => new Promise<never>(() => undefined)
const slowWith = (keys: readonly number[]) => (keys.includes(SLOW) ? never() : Promise.resolve(doubled(keys)))

/** `null` is a failure. @param says given the keys and the number of the question */
function stage(says: Says) {
  const asked: (readonly number[])[] = []
  const ask = gathering(
    (keys: readonly number[]) => {
      asked.push(keys)
      return says(keys, asked.length)
    },
    { patience: { ms: MS, nameOf: String, isAnswer: (answer) => answer !== null } },
  )
  return { asked, ask }
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n)

t.test('of many callers only the slow one waits, after few more questions', async (t) => {
  const { asked, ask } = stage(slowWith)
  const all = range(64).map((n) => ask([n]))
  const others = await Promise.all(all.filter((_, n) => n !== SLOW))
  t.strictSame(
    others.map(([answer]) => answer),
    doubled(range(64).filter((n) => n !== SLOW)),
  )
  t.strictSame(
    asked.map(({ length }) => length),
    [64, ...Array(8).fill(8), ...Array(8).fill(1)],
  )
})

t.test('who was slow is asked for apart from then on, and others not', async (t) => {
  const { asked, ask } = stage(slowWith)
  void ask([SLOW])
  await Promise.all([ask([1]), ask([2])])
  await delay(3 * MS)
  asked.length = 0
  void ask([SLOW, 1])
  t.strictSame(await Promise.all([ask([1]), ask([2])]), [[2], [4]])
  t.strictSame(asked, [
    [SLOW, 1],
    [1, 2],
  ])
})

t.test('where all are slow nobody is remembered: later questions are shared as before', async (t) => {
  let isSlow = true
  const { asked, ask } = stage(async (keys) => {
    if (isSlow) await delay(5 * MS)
    return doubled(keys)
  })
  t.strictSame(await Promise.all([ask([1]), ask([2]), ask([3])]), [[2], [4], [6]])
  isSlow = false
  asked.length = 0
  t.strictSame(await Promise.all([ask([1]), ask([2]), ask([3])]), [[2], [4], [6]])
  t.strictSame(asked, [[1, 2, 3]])
})

t.test('the keys of one caller stay together and in their order', async (t) => {
  const { asked, ask } = stage(slowWith)
  void ask([SLOW])
  await Promise.all([ask([1, 2, 3]), ask([4, 5])])
  t.strictSame(asked, [[SLOW, 1, 2, 3, 4, 5], [SLOW], [1, 2, 3], [4, 5]])
})

t.test('a failure counts only if nothing better follows', async (t) => {
  const first = stage(async (keys, n) => {
    if (n > 1) return keys.map(() => null)
    await delay(5 * MS)
    return doubled(keys)
  })
  t.strictSame(await Promise.all([first.ask([1]), first.ask([2])]), [[2], [4]], 'the first question has an answer')
  const second = stage(async (keys, n) => {
    if (n > 1) await delay(2 * MS)
    else {
      await delay(2 * MS)
      throw new Error('no node')
    }
    return doubled(keys)
  })
  t.strictSame(await Promise.all([second.ask([1]), second.ask([2])]), [[2], [4]], 'another one has')
  const none = stage(async (keys) => {
    await delay(2 * MS)
    return keys.map(() => null)
  })
  t.strictSame(await Promise.all([none.ask([1]), none.ask([2])]), [[null], [null]], 'none has')
  const broken = stage(async () => {
    await delay(2 * MS)
    throw new Error('no node')
  })
  await t.rejects(Promise.all([broken.ask([1]), broken.ask([2])]), /no node/)
})

t.end()
