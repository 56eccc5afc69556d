/** Requests that wait for events. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createWaitUntil } from '../../src/event-log/wait-until.ts'
import type { Wake, WakeUps } from '../../src/event-log/wake-ups.ts'

t.test('what happens during a look is looked at at once after it, not at the next interval', async (t) => {
  let tell: (wake: Wake) => void = () => undefined
  const wakeUps = {
    listen(callback: (wake: Wake) => void) {
      tell = callback
      return () => undefined
    },
  } as unknown as WakeUps
  let looks = 0
  const wait = createWaitUntil<string>({
    wakeUps,
    async find([id = '']) {
      looks += 1
      if (looks > 1) return new Map([[id, 'done']])
      // The statement has its snapshot, and answers later.
      tell({ types: null, work: null })
      await delay(5)
      return new Map()
    },
  })
  const beganAt = performance.now()
  t.equal(await wait('tx_1', 5_000), 'done')
  t.ok(performance.now() - beganAt < 200)
  t.equal(looks, 2)
})
