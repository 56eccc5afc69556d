/** Which job is added to a queue next, with a fake of the queue at its port. */
import fc from 'fast-check'
import t from 'tap'
import { Unavailable } from '../../src/core/errors.ts'
import type { QueueName } from '../../src/core/registry.ts'
import { QUEUE_LIMITS } from '../../src/declarations.ts'
import type { QueueLoad, TenantLoad } from '../../src/jobs/jobs.ts'
import type { Job } from '../../src/jobs/queues.ts'
import { createRounds } from '../../src/jobs/rounds.ts'
import { takeTurns } from '../../src/jobs/take-turns.ts'
import { LANE_QUEUES, PARTITIONS } from '../../src/transactions/partitions.ts'

const jobOf = (tenant: string, n: number, queue: QueueName = 'lane'): Job => ({
  queue,
  id: `${tenant}-${n}`,
  data: { tenant_id: tenant },
})
const crowdOf = (tenant: string, count: number, queue: QueueName = 'lane') =>
  Array.from({ length: count }, (_, n) => jobOf(tenant, n, queue))
const always = () => true

t.test('tenants take turns, and the jobs of each keep their order', async (t) => {
  const rounds = createRounds()
  for (const job of [...crowdOf('acme', 4), ...crowdOf('globex', 2), jobOf('initech', 0), jobOf('acme', 1)])
    rounds.put(job)
  t.equal(rounds.size(), 7, 'a job that is already waiting is added only once')
  const ids = (room: number) => rounds.take(room, always).map(({ id }) => id)
  t.strictSame(ids(2), ['acme-0', 'globex-0'])
  rounds.put(jobOf('hooli', 0))
  t.strictSame(ids(3), ['initech-0', 'acme-1', 'globex-1'], 'a tenant that had a turn goes behind the waiting tenants')
  t.strictSame(ids(9), ['hooli-0', 'acme-2', 'acme-3'])
  t.equal(rounds.size(), 0)
})

t.test('no job is taken twice or lost, and no tenant is two turns ahead of one that waits', async () => {
  const tenants = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 })
  fc.assert(
    fc.property(tenants, fc.integer({ min: 1, max: 9 }), fc.constantFrom('a', 'none'), (owners, room, barred) => {
      const rounds = createRounds()
      for (const [n, owner] of owners.entries()) rounds.put(jobOf(owner, n))
      const left = new Map([...new Set(owners)].map((owner) => [owner, owners.filter((one) => one === owner).length]))
      const taken: Job[] = []
      for (;;) {
        const next = rounds.take(room, (tenant) => tenant !== barred)
        if (next.length === 0) break
        taken.push(...next)
      }
      const counts = new Map<string, number>()
      for (const { data } of taken) {
        const own = data.tenant_id ?? ''
        counts.set(own, (counts.get(own) ?? 0) + 1)
        for (const [other, count] of left) {
          const has = counts.get(other) ?? 0
          if (other !== barred && has < count && (counts.get(own) ?? 0) - has > 1) return false
        }
      }
      const expected = owners.filter((owner) => owner !== barred).length
      return new Set(taken.map(({ id }) => id)).size === expected && taken.length === expected
    }),
  )
})

/** A queue that keeps added jobs until a test takes them. */
function scene(failing: ReadonlyMap<string, number> = new Map()) {
  const held: Job[] = []
  const looks: boolean[] = []
  let down = false
  const stop = new AbortController()
  t.after(() => stop.abort())
  const jobs = {
    async add(added: readonly Job[]) {
      if (down) throw new Unavailable('queue_unavailable', 'The job queue does not answer.')
      held.push(...added)
    },
    async load(_: QueueName, { byTenant }: { readonly byTenant: boolean }): Promise<QueueLoad> {
      looks.push(byTenant)
      const delayed = [...failing.values()].reduce((sum, count) => sum + count, 0)
      if (!byTenant) return { waiting: held.length, delayed, byTenant: null }
      const loads = new Map<string, TenantLoad>()
      for (const [tenant, count] of failing) loads.set(tenant, { running: 0, failing: count })
      for (const { data } of held) {
        const load = loads.get(data.tenant_id ?? '') ?? { running: 0, failing: 0 }
        loads.set(data.tenant_id ?? '', { ...load, running: load.running + 1 })
      }
      return { waiting: held.length, delayed, byTenant: loads }
    },
  }
  const warned: string[] = []
  const log = { info: () => undefined, warn: (_: object, text: string) => warned.push(text) }
  const countOf = (tenant: string) => held.filter(({ data }) => data.tenant_id === tenant).length
  return {
    turns: takeTurns({ jobs, limits: QUEUE_LIMITS, signal: stop.signal, log }),
    held,
    looks,
    warned,
    countOf,
    /** Runs turns until a condition holds: each turn begins with a look or an add. */
    async until(isSo: () => boolean) {
      while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1))
    },
    setDown: (value: boolean) => {
      down = value
    },
  }
}

t.test('a queue holds no more than its window, and is refilled as jobs complete', async (t) => {
  const { turns, held, until, countOf } = scene()
  const { window } = QUEUE_LIMITS.lane
  await turns.add(crowdOf('acme', 3 * window))
  t.equal(held.length, window)
  await turns.add([jobOf('globex', 0)])
  t.equal(countOf('globex'), 0, 'the full window admits no job of another tenant')
  t.strictSame([...turns.waiting()], [['lane', 2 * window + 1]])
  held.splice(0, 2)
  await until(() => held.length === window)
  t.equal(countOf('globex'), 1, 'one of two free places goes to the tenant that had none')
  for (let rest = 2 * window; rest > 0; rest -= window) {
    held.splice(0)
    await until(() => held.length > 0)
  }
})

t.test('few reads of the queue serve many jobs', async (t) => {
  const { turns, held, looks } = scene()
  for (let n = 0; n < QUEUE_LIMITS.lane.window; n += 1) await turns.add([jobOf('acme', n)])
  t.equal(held.length, QUEUE_LIMITS.lane.window)
  t.strictSame(looks, [false])
})

t.test('a tenant has a bounded number of jobs for the parties at once, each tenant its own', async (t) => {
  const { turns, countOf } = scene()
  const { atOnce } = QUEUE_LIMITS['mpc-signature']
  await turns.add(crowdOf('acme', 300, 'mpc-signature'))
  t.equal(countOf('acme'), atOnce)
  await turns.add(crowdOf('globex', 3, 'mpc-signature'))
  t.strictSame([countOf('acme'), countOf('globex')], [atOnce, 3])
})

t.test('every partition of lanes gets its job, while workers keep the jobs of all others', async (t) => {
  for (const queue of LANE_QUEUES) {
    const { turns, held } = scene()
    await turns.add(PARTITIONS.map((partition) => ({ queue, id: partition, data: { partition } })))
    t.strictSame(held.map(({ id }) => id).toSorted(), PARTITIONS, queue)
  }
})

t.test('a tenant whose jobs fail gets no more turns for them, and the others go on', async (t) => {
  const { turns, countOf } = scene(new Map([['acme', QUEUE_LIMITS.lane.failing]]))
  await turns.add([...crowdOf('acme', 3), ...crowdOf('globex', 3)])
  t.strictSame([countOf('acme'), countOf('globex')], [0, 3])
})

t.test('while the queue is down callers get an error, and waiting jobs are queued once it is back', async (t) => {
  const { turns, held, until, warned, setDown } = scene()
  setDown(true)
  await t.rejects(turns.add(crowdOf('acme', 3)), { code: 'queue_unavailable' })
  await until(() => warned.length > 0)
  setDown(false)
  await turns.add([jobOf('acme', 1)])
  t.strictSame(held.map(({ id }) => id).toSorted(), ['acme-0', 'acme-1', 'acme-2'])
})

t.end()
