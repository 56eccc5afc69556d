/** Who has a pass next: tenants take turns, groups have their own room, and a tenant has at most its limit. */
import t from 'tap'
import { stageDrain } from '../support/drain-stage.ts'

const itemsOf = (tenant: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${(n % 16).toString(16)}-${tenant}-${n}`)
const PARTITIONS = [...'0123456789abcdef']

t.test(
  'a tenant with one item has its pass in the next round, beside one with a thousand in all partitions',
  async (t) => {
    const { time, drain, work, began, hold } = stageDrain()
    for (const item of itemsOf('acme', 1_000)) work.add(item)
    for (const name of PARTITIONS) hold(name)
    await time.pass(100)
    t.equal(began.length, 4)
    drain.wake(['7-globex-1'])
    await time.pass(20)
    await began[0]?.end()
    await began[1]?.end()
    await time.pass(20)
    t.strictSame(
      began.slice(4).map(({ item }) => item.split('-')[1]),
      ['acme', 'globex'],
    )
  },
)

t.test('tenants of a round share its room alike', async (t) => {
  const { time, work, began, hold } = stageDrain({ atOnce: { ofGroup: 12, ofTenant: () => null } })
  for (const item of [...itemsOf('acme', 100), ...itemsOf('globex', 20), ...itemsOf('hooli', 3)]) work.add(item)
  for (const name of PARTITIONS) hold(name)
  await time.pass(20)
  const tenants = began.map(({ item }) => item.split('-')[1])
  t.strictSame(
    ['acme', 'globex', 'hooli'].map((tenant) => tenants.filter((one) => one === tenant).length),
    [5, 4, 3],
  )
})

t.test('a group whose passes hang delays no other', async (t) => {
  const { time, drain, work, began, hold } = stageDrain({ groupOf: (item) => item.split('-')[2] ?? '' })
  for (let n = 0; n < 100; n += 1) work.add(`7-acme-slow-${n}`)
  hold('7')
  await time.pass(100)
  t.equal(began.length, 4)
  for (let n = 0; n < 10; n += 1) {
    drain.wake([`7-acme-fast-${n}`])
    await time.pass(20)
    t.equal(began.at(-1)?.item, `7-acme-fast-${n}`)
    await began.at(-1)?.end()
  }
  t.equal(began.length, 14)
})

t.test('a tenant has no more passes at once than its limit, in all partitions together', async (t) => {
  let most = 2
  const { time, work, began, running, hold } = stageDrain({ atOnce: { ofGroup: 8, ofTenant: () => most } })
  for (const item of [...itemsOf('acme', 20), ...itemsOf('globex', 1)]) work.add(item)
  for (const name of PARTITIONS) hold(name)
  await time.pass(20)
  t.strictSame(
    running().map((item) => item.split('-')[1]),
    ['acme', 'globex', 'acme'],
  )
  await began[0]?.end()
  await time.pass(20)
  t.equal(running().length, 3)
  most = 4
  await began[1]?.end()
  await time.pass(20)
  t.equal(running().length, 4)
  t.equal(running().filter((item) => item.includes('acme')).length, 4)
})

t.test('no item is dropped, however many of one tenant wait', async (t) => {
  const done: string[] = []
  const { time, work, hold } = stageDrain({
    atOnce: { ofGroup: 1_000, ofTenant: () => null },
    async pass(item) {
      done.push(item)
      return 'done'
    },
  })
  for (const item of itemsOf('acme', 12_001)) work.add(item)
  for (const name of PARTITIONS) hold(name)
  await time.pass(300)
  t.equal(done.length, 12_001)
  t.equal(new Set(done).size, 12_001)
})

t.test('the cost of a round does not grow with what waits', async (t) => {
  const stepsWith = async (count: number) => {
    let steps = 0
    const counted = <T>(answer: T) => {
      steps += 1
      return answer
    }
    const { time, work, began, hold } = stageDrain({
      groupOf: () => counted('all'),
      partitionOf: (item) => counted(item.charAt(0)),
      tenantsOf: async (items) => new Map(items.map((item) => counted([item, 'acme']))),
      atOnce: { ofGroup: 4, ofTenant: () => counted(null) },
    })
    for (const item of itemsOf('acme', count)) work.add(item)
    for (const name of PARTITIONS) hold(name)
    await time.pass(20)
    steps = 0
    for (let n = 0; n < 50; n += 1) {
      await began[n]?.end()
      await time.pass(20)
    }
    t.equal(began.length, 54)
    return steps
  }
  t.equal(await stepsWith(10_000), await stepsWith(100))
})

t.test('rounds begin at least 15 ms apart, and the first after a pause begins at once', async (t) => {
  const { time, drain, began, hold } = stageDrain({ atOnce: { ofGroup: 99, ofTenant: () => null } })
  hold('7')
  await time.pass(1_000)
  for (let n = 0; n < 30; n += 1) {
    drain.wake([`7-acme-${n}`])
    await time.pass(1)
  }
  await time.pass(20)
  const at = [...new Set(began.map(({ beganAt }) => beganAt))]
  t.equal(at[0], 1_000)
  t.ok(at.slice(1).every((one, n) => one - (at[n] ?? 0) >= 15))
  t.equal(began.length, 30)
})

t.test(
  'an item that waits in the lines of two tenants has one pass at a time, and keeps no room after it',
  async (t) => {
    let tenant = ''
    const { time, drain, began, running, hold } = stageDrain({
      atOnce: { ofGroup: 2, ofTenant: () => null },
      tenantsOf: async (items) => new Map(items.map((item) => [item, item === '7-acme-3' ? tenant : 'other'])),
    })
    const held = hold('7')
    await time.pass(10)
    drain.wake(['7-other-1', '7-other-2'])
    await time.pass(20)
    drain.wake(['7-acme-3'])
    await time.pass(20)
    tenant = 'acme'
    drain.wake(['7-acme-3'])
    await time.pass(20)
    for (const pass of began.slice(0, 2)) await pass.end()
    await time.pass(20)
    t.strictSame(running(), ['7-acme-3'])
    for (let n = 2; n < began.length; n += 1) {
      await began[n]?.end()
      await time.pass(20)
    }
    await time.pass(2_100)
    t.strictSame(running(), [])
    t.equal(held.outcome, 'nothing left')
  },
)
