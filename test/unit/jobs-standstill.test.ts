import t from 'tap'
import { createStandstill } from '../../src/jobs/standstill.ts'

t.test('a job that makes no progress for too long is reported; one that moves or is gone is not', async (t) => {
  let now = 0
  const look = createStandstill(1_000, () => now)
  t.strictSame(look(new Map([['a', '1'], ['b', '1'], ['c', '1']])), []) // biome-ignore format: one line shows one look
  now = 900
  t.strictSame(look(new Map([['a', '1'], ['b', '2']])), []) // biome-ignore format: one line shows one look
  now = 1_001
  t.strictSame(look(new Map([['a', '1'], ['b', '2'], ['c', '1']])), ['a'], 'the time of c starts again when c returns') // biome-ignore format: one line shows one look
  now = 1_901
  t.strictSame(look(new Map([['b', '2']])), ['b'])
})

t.end()
