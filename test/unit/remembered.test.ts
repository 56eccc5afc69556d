import t from 'tap'
import { remembering } from '../../src/event-log/remembered.ts'

t.test('concurrent questions share one, and its answer counts until it is forgotten', async (t) => {
  const { of, forget, forgetAll } = remembering<number>({ ms: 60_000, most: 2 })
  let asked = 0
  const ask = async () => {
    asked += 1
    return asked
  }
  t.strictSame(await Promise.all([of('a', ask), of('a', ask), of('b', ask)]), [1, 1, 2])
  t.equal(await of('a', ask), 1)
  forget('a')
  t.strictSame([await of('a', ask), await of('b', ask)], [3, 2])
  forgetAll()
  t.strictSame([await of('a', ask), await of('b', ask), await of('c', ask)], [4, 5, 6])
  t.equal(await of('a', ask), 7, 'the one that was used longest ago makes room')
})

t.test('what fails is asked for again, and forgets no newer question', async (t) => {
  const { of, forget } = remembering<string>({ ms: 60_000, most: 10 })
  let fail: (error: Error) => void = () => undefined
  const failing = of('a', () => new Promise((_, reject) => (fail = reject)))
  forget('a')
  const next = of('a', async () => 'known')
  fail(new Error('lost'))
  await t.rejects(failing, { message: 'lost' })
  t.equal(await next, 'known')
  t.equal(await of('a', async () => 'asked again'), 'known')
  await t.rejects(of('b', () => Promise.reject(new Error('lost'))))
  t.equal(await of('b', async () => 'asked again'), 'asked again')
})
