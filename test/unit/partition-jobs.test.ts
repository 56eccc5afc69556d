/** Jobs of lanes become jobs of partitions, with simulated time. */
import t from 'tap'
import { WORK } from '../../src/compose/capabilities.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { isOfLaneAlone } from '../../src/transactions/jobs.ts'
import { createPartitionJobs } from '../../src/transactions/partition-jobs.ts'
import { simulateTime } from '../support/simulated-time.ts'

const laneOf = (digit: string, n = 0) => `1-0x${digit}${String(n).padStart(39, '0')}`
const signJob = (digit: string, data: Record<string, string> = {}): Job => {
  const lane = laneOf(digit)
  return { queue: 'lane', id: lane, data: { lane, ...data } }
}

function stage() {
  const time = simulateTime()
  const stop = new AbortController()
  const added: { readonly at: number; readonly job: Job }[] = []
  const told: string[] = []
  const errors: unknown[] = []
  let isAway = false
  const { add, isUrgent } = createPartitionJobs({
    async add(jobs) {
      await time.settle()
      if (isAway) throw new Error('no queue')
      added.push(...jobs.map((job) => ({ at: time.now(), job })))
    },
    tell: (work) => told.push(...work),
    onError: (error) => errors.push(error),
    signal: stop.signal,
    time,
  })
  return {
    add,
    isUrgent: (types: readonly string[] | null, work: readonly string[] | null) =>
      isUrgent({ types: types === null ? null : new Set(types), work }),
    time,
    stop,
    told,
    errors,
    added,
    ids: () => added.map(({ at, job }) => `${at} ${job.queue} ${job.id}`),
    setAway(now: boolean) {
      isAway = now
    },
  }
}

t.test('jobs of lanes become one job of each partition and queue, and other jobs stay as they are', async (t) => {
  const { add, added } = stage()
  const other: Job = { queue: 'wallet', id: 'wal_1', data: { wallet_id: 'wal_1' } }
  const lanes = [0, 1, 2].map((n): Job => ({ queue: 'lane', id: laneOf('a', n), data: { lane: laneOf('a', n) } }))
  await add([...lanes, other, { ...signJob('a'), queue: 'submit' }, signJob('B')])
  t.strictSame(
    added.map(({ job }) => job),
    [
      { queue: 'lane', id: 'a', data: { partition: 'a' } },
      { queue: 'submit', id: 'a', data: { partition: 'a' } },
      { queue: 'lane', id: 'b', data: { partition: 'b' } },
      other,
    ],
  )
})

t.test('a partition gets a job at once, and then at most one in a second, and no other waits for it', async (t) => {
  const { add, time, ids } = stage()
  for (let n = 0; n < 25; n += 1) {
    await add([signJob('a')])
    if (n === 9) await add([signJob('b')])
    if (n === 10) await add([signJob('b')])
    await time.pass(100)
  }
  await time.pass(5_000)
  t.strictSame(ids(), ['0 lane a', '900 lane b', '1000 lane a', '2000 lane a', '2000 lane b', '3000 lane a'])
})

t.test('a search of the sweeper stays one when it waits with other jobs', async (t) => {
  const { add, time, added } = stage()
  await add([signJob('a'), signJob('b', { stale: 'true' }), signJob('b')])
  await add([signJob('a', { stale: 'true' })])
  await add([signJob('a')])
  await time.pass(1_000)
  t.strictSame(
    added.map(({ job }) => job.data),
    [{ partition: 'a' }, { partition: 'b', stale: 'true' }, { partition: 'a', stale: 'true' }],
  )
})

t.test('the processes are told of work that no append names, after its job was added', async (t) => {
  const { add, told, setAway } = stage()
  await add([signJob('a'), signJob('b', { told: 'true' }), { ...signJob('c', { told: 'true' }), queue: 'submit' }])
  t.strictSame(told, [`sign ${laneOf('b')}`, `submit ${laneOf('c')}`])
  await add([signJob('b', { told: 'true' })])
  t.equal(told.length, 3, 'also when its job waits')
  setAway(true)
  await t.rejects(add([signJob('d', { told: 'true' })]))
  t.equal(told.length, 3)
})

t.test('an error of the queue is the caller’s, whose next try is not late', async (t) => {
  const { add, time, ids, errors, setAway } = stage()
  setAway(true)
  await t.rejects(add([signJob('a')]), /no queue/)
  setAway(false)
  await time.pass(10)
  await add([signJob('a')])
  t.strictSame(ids(), ['10 lane a'])
  t.strictSame(errors, [])
})

t.test('a job that waits is tried once a second while the queue is away, and is never lost', async (t) => {
  const { add, time, ids, errors, added, setAway } = stage()
  await add([signJob('a')])
  await add([signJob('a', { stale: 'true' })])
  setAway(true)
  await time.pass(5_500)
  t.equal(errors.length, 5)
  await t.rejects(add([signJob('a')]))
  setAway(false)
  await time.pass(2_000)
  t.strictSame(ids(), ['0 lane a', '6000 lane a'])
  t.strictSame(added[1]?.job.data, { partition: 'a', stale: 'true' })
})

t.test('work that comes while the job of its partition is added gets another job', async (t) => {
  const { add, time, ids } = stage()
  await add([signJob('a')])
  await add([signJob('a')])
  time.after(1_000, () => void add([signJob('a')]))
  await time.pass(3_000)
  t.strictSame(ids(), ['0 lane a', '1000 lane a', '2000 lane a'])
})

t.test('what waits is dropped when the process stops, and a name that is no lane’s has no partition', async (t) => {
  const { add, time, stop, ids } = stage()
  await add([signJob('a'), { queue: 'lane', id: 'x', data: { lane: 'x' } }, { queue: 'lane', id: 'y', data: {} }])
  await add([signJob('a')])
  stop.abort()
  await time.pass(5_000)
  t.strictSame(ids(), ['0 lane a'])
  t.equal(time.pending(), 0)
})

t.test('a job that waits is added with the next one of its partition', async (t) => {
  const { add, time, added, setAway } = stage()
  await add([signJob('a')])
  await add([signJob('a', { stale: 'true' })])
  setAway(true)
  await time.pass(1_500)
  setAway(false)
  await add([signJob('a')])
  await time.pass(5_000)
  t.strictSame(
    added.slice(1).map(({ at, job }) => [at, job.data]),
    [[1_500, { partition: 'a', stale: 'true' }]],
  )
})

t.test('work of a lane whose partition just had its job is not urgent', async (t) => {
  const { add, time, isUrgent } = stage()
  const sign = (digit: string, n = 0) => `sign ${laneOf(digit, n)}`
  t.ok(isUrgent(['TransferRequested'], [sign('a')]), 'before the first job')
  await add([signJob('a')])
  t.notOk(isUrgent(['TransferRequested'], [sign('a')]))
  t.notOk(isUrgent(['TransactionSubmitted'], []), 'nothing follows from it')
  t.ok(isUrgent(['TransactionSigned'], [`submit ${laneOf('a')}`]), 'the other step has its own partitions')
  t.ok(isUrgent(['TransferRequested'], [sign('a', 1)]), 'a lane of which it is not known whether it is an mpc one')
  t.ok(isUrgent(['TransferRequested'], [sign('a'), sign('b')]), 'one lane of several')
  t.ok(isUrgent(['TransferRequested', 'WalletRequested'], [sign('a')]), 'an event that asks for another job')
  t.ok(isUrgent(['TransactionMined'], [sign('a')]), 'others may depend on it')
  t.ok(isUrgent(null, [sign('a')]), 'any events')
  t.ok(isUrgent(['TransferRequested'], null), 'any work')
  t.ok(isUrgent(['TransferRequested'], ['sign nobody']))
  await time.pass(1_000)
  t.ok(isUrgent(['TransferRequested'], [sign('a')]), 'a second later')
  await add([{ ...signJob('a'), queue: 'mpc-lane' }])
  t.notOk(isUrgent(['TransferRequested'], [sign('a')]), 'a lane of mpc keys has partitions of its own')
})

t.test('what asks for nothing but a job of its lane asks no other capability for one', async (t) => {
  const types = Object.keys(transactionAggregate.schemas).filter(isOfLaneAlone)
  t.ok(types.includes('TransferRequested') && types.includes('TransactionSigned'))
  const event = { streamId: 'transaction-tx_1', tenantId: 'ten_1', data: {} }
  for (const type of types)
    t.strictSame(
      WORK.flatMap(({ jobsOf }) => jobsOf({ ...event, type })),
      [],
      type,
    )
})

t.test('a slow answer of the queue takes off nothing that came since', async (t) => {
  const time = simulateTime()
  const answers: (() => void)[] = []
  const { add } = createPartitionJobs({
    add: () => new Promise((resolve) => answers.push(resolve)),
    tell: () => undefined,
    onError: () => undefined,
    signal: new AbortController().signal,
    time,
  })
  const slow = add([signJob('a')])
  const quick = add([signJob('a')])
  answers[1]?.()
  await quick
  await add([signJob('a')])
  answers[0]?.()
  await slow
  t.equal(answers.length, 2)
  await time.pass(1_000)
  t.equal(answers.length, 3)
})
