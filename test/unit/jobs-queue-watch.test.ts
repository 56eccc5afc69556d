/** One look at all queues wakes idle workers, and says where a worker may have died. */
import { EventEmitter, once } from 'node:events'
import t, { type Test } from 'tap'
import { createQueueWatch, type QueueSight } from '../../src/jobs/queue-watch.ts'

const ACTIVE: QueueSight = { hasActive: true, hasDelayed: false, isReady: false }
const READY: QueueSight = { hasActive: false, hasDelayed: false, isReady: true }

/** A watch on these contents of the queues; `looked` emits after each look. */
function watching(t: Test, contents: () => ReadonlyMap<string, QueueSight>) {
  const looked = new EventEmitter()
  const asked: (readonly string[])[] = []
  const errors: unknown[] = []
  const watch = createQueueWatch(
    async (queues) => {
      asked.push(queues)
      setImmediate(() => looked.emit('look'))
      return contents()
    },
    (error) => errors.push(error),
  )
  t.teardown(watch.stop)
  return { ...watch, asked, errors, look: () => once(looked, 'look') }
}

t.test('one look asks about every queue of the process', async (t) => {
  const { wait, asked, look } = watching(t, () => new Map())
  wait('lane', async () => undefined)
  wait('wallet', async () => undefined)
  await look()
  t.strictSame(asked, [['lane', 'wallet']])
})

t.test('jobs may be running until a look shows that there are none', async (t) => {
  const { hasActive, look } = watching(t, () => new Map([['lane', ACTIVE]]))
  t.strictSame([hasActive('lane'), hasActive('wallet')], [true, true])
  await look()
  t.strictSame([hasActive('lane'), hasActive('wallet')], [true, false])
})

t.test('after a look that failed, jobs may be running', async (t) => {
  let fails = false
  const { hasActive, errors, look } = watching(t, () => {
    if (fails) throw new Error('the database is away')
    return new Map()
  })
  hasActive('lane')
  await look()
  t.equal(hasActive('lane'), false)
  fails = true
  await look()
  t.equal(hasActive('lane'), true)
  t.equal(errors.length, 1)
})

t.test('a worker that waits is woken when its queue has a job, and no other', async (t) => {
  const woken: string[] = []
  const { wait, look } = watching(t, () => new Map([['lane', READY]]))
  for (const queue of ['lane', 'wallet']) wait(queue, async () => void woken.push(queue))
  const end = wait('lane', async () => void woken.push('lane'))
  await look()
  t.strictSame(woken, ['lane'])
  end()
  await look()
  t.strictSame(woken, ['lane'], 'a worker that no longer waits is left alone')
})
