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
  const nextPoll = delay(200, 'the next poll')
  t.equal(await Promise.race([wait('tx_1', 5_000), nextPoll]), 'done')
  t.equal(looks, 2)
})

t.test('who has just read that it is not done looks after the next wake-up, and not before', async (t) => {
  const told: ((wake: Wake) => void)[] = []
  const wakeUps = {
    listen(callback: (wake: Wake) => void) {
      told.push(callback)
      return () => undefined
    },
  }
  const looks: string[] = []
  const wait = createWaitUntil<string>({
    wakeUps: wakeUps as unknown as WakeUps,
    looksAtOnce: false,
    async find([id = '']) {
      looks.push('look')
      return new Map([[id, 'done']])
    },
  })
  const waiting = wait('tx_1', 5_000)
  await delay(20)
  looks.push('told')
  for (const tell of told) tell({ types: null, work: null })
  t.equal(await waiting, 'done')
  t.strictSame(looks, ['told', 'look'])
})
