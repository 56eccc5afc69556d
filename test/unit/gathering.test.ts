/** Questions of one turn of the event loop are asked together. */
import t from 'tap'
import { gathering } from '../../src/core/gathering.ts'

function stage(options: Parameters<typeof gathering<number, number>>[1] = {}) {
  const asked: (readonly number[])[] = []
  const ask = gathering(async (keys: readonly number[]) => {
    asked.push(keys)
    if (keys.includes(13)) throw new RangeError('13')
    if (keys.includes(99)) throw new Error('no database')
    return keys.map((key) => key * 2)
  }, options)
  return { asked, ask }
}

const outcomes = async (asks: readonly Promise<readonly number[]>[]) =>
  (await Promise.allSettled(asks)).map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))

t.test(
  'callers of the same turn share one question, and each gets the answers to its own keys in their order',
  async (t) => {
    const { asked, ask } = stage()
    t.strictSame(await outcomes([ask([3, 1]), ask([2]), ask([1, 1])]), [[6, 2], [4], [2, 2]])
    t.strictSame(asked, [[3, 1, 2, 1, 1]])
    await ask([5])
    t.equal(asked.length, 2, 'a later caller asks anew')
  },
)

t.test('callers that begin after others in the same turn are asked with them', async (t) => {
  const { asked, ask } = stage()
  const first = ask([1])
  await Promise.resolve()
  await Promise.all([first, ask([2])])
  t.strictSame(asked, [[1, 2]])
})

t.test('a question without keys is not asked', async (t) => {
  const { asked, ask } = stage()
  t.strictSame(await ask([]), [])
  t.strictSame(asked, [])
})

t.test('a question has no more keys than its limit, except those of one caller', async (t) => {
  const { asked, ask } = stage({ most: 3 })
  const keys = [[5, 6, 7, 8], [1, 2], [3, 4], [9]]
  t.strictSame(
    await outcomes(keys.map((own) => ask(own))),
    keys.map((own) => own.map((key) => key * 2)),
  )
  t.strictSame(asked, [
    [5, 6, 7, 8],
    [1, 2],
    [3, 4, 9],
  ])
})

t.test('an error is that of every caller, unless it may be that of one: then each asks again alone', async (t) => {
  const all = stage()
  t.strictSame(await outcomes([all.ask([1]), all.ask([13])]), ['RangeError: 13', 'RangeError: 13'])
  t.equal(all.asked.length, 1)
  const apart = stage({ isShared: (error) => !(error instanceof RangeError) })
  t.strictSame(await outcomes([apart.ask([1]), apart.ask([13]), apart.ask([2, 3])]), [[2], 'RangeError: 13', [4, 6]])
  t.strictSame(apart.asked, [[1, 13, 2, 3], [1], [13], [2, 3]])
  t.strictSame(await outcomes([apart.ask([1]), apart.ask([99])]), ['Error: no database', 'Error: no database'])
  t.equal(apart.asked.length, 5, 'nobody asks again what failed for all')
})

t.test('an error of one group of callers is not that of another, and a single caller asks once', async (t) => {
  const { asked, ask } = stage({ most: 2, isShared: () => false })
  t.strictSame(await outcomes([ask([1, 2]), ask([13, 3]), ask([4])]), [[2, 4], 'RangeError: 13', [8]])
  t.strictSame(asked, [[1, 2], [13, 3], [4]])
})

t.test('keys may differ in size: large ones of one caller are asked beside the small ones of others', async (t) => {
  const { asked, ask } = stage({ most: 10, sizeOf: (key) => key })
  t.strictSame(await outcomes([ask([8, 7]), ask([1]), ask([2, 3])]), [[16, 14], [2], [4, 6]])
  t.strictSame(asked, [
    [8, 7],
    [1, 2, 3],
  ])
})
