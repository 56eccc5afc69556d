/** Who is sent to next: quick receivers never wait for slow ones, live events never for replays, tenants take turns. */
import t, { type Test } from 'tap'
import { replaysOf } from '../../src/webhooks/line.ts'
import { createPlaces, type Place } from '../../src/webhooks/places.ts'
import { simulateTime } from '../support/simulated-time.ts'

type Begun = { readonly line: string; readonly place: Place; readonly end: () => Promise<void> }

function withPlaces(_: Test) {
  const time = simulateTime()
  const begun: Begun[] = []
  const running = new Set<string>()
  const errors: string[] = []
  const places = createPlaces({
    time,
    async send(line, place) {
      running.add(line)
      await place.during(
        () =>
          new Promise<void>((resolve) => {
            const end = async () => {
              resolve()
              await time.settle()
            }
            begun.push({ line, place, end })
          }),
      )
      running.delete(line)
      if (line.startsWith('broken')) throw new Error('no database')
    },
    onError: (line) => void errors.push(line),
  })
  const put = (tenant: string, count: number) => {
    for (let n = 0; n < count; n += 1) places.put(`${tenant}-${n}`, tenant)
  }
  return { time, places, begun, running, errors, put }
}

t.test(
  'a quick receiver waits at most a second for receivers that do not answer, of however many tenants',
  async (t) => {
    const { time, places, begun, put } = withPlaces(t)
    for (let tenant = 0; tenant < 10; tenant += 1) put(`slow${tenant}`, 50)
    await time.settle()
    t.equal(begun.length, 64)
    places.put('quick-0', 'quick')
    await time.pass(999)
    t.equal(begun.length, 64)
    await time.pass(1)
    t.ok(begun.slice(64, 128).some(({ line }) => line === 'quick-0'))
    await begun.find(({ line }) => line === 'quick-0')?.end()
    await time.pass(8_000)
    t.equal(begun.length, 501, 'each slow one is tried too')
    for (const { end } of begun) await end()
    begun.splice(0)
    for (let tenant = 0; tenant < 10; tenant += 1) put(`slow${tenant}`, 50)
    places.put('quick-0', 'quick')
    await time.settle()
    t.ok(
      begun.some(({ line }) => line === 'quick-0'),
      'they are known as slow',
    )
    t.equal(begun.length, 65)
  },
)

t.test('one tenant leaves places to others, and tenants take turns for those that become free', async (t) => {
  const { time, begun, put } = withPlaces(t)
  put('big', 500)
  await time.settle()
  t.equal(begun.length, 56)
  put('small', 20)
  await time.settle()
  t.equal(begun.length, 64)
  for (const { end } of begun.slice(0, 8)) await end()
  const next = begun.slice(64).map(({ line }) => line.split('-')[0])
  t.strictSame(
    [next.filter((tenant) => tenant === 'big').length, next.filter((tenant) => tenant === 'small').length],
    [4, 4],
  )
})

t.test('replays have places of their own', async (t) => {
  const { time, places, begun } = withPlaces(t)
  for (let n = 0; n < 100; n += 1) places.put(replaysOf(`acme-${n}`), `tenant-${n}`)
  await time.pass(60_000)
  t.equal(begun.length, 16)
  places.put('acme-1', 'acme')
  await time.settle()
  t.equal(begun.at(-1)?.line, 'acme-1')
  t.equal(begun.at(-1)?.place.isWanted(), false)
  t.equal(begun[0]?.place.isWanted(), true)
})

t.test('a receiver that was slow has a place of the slow ones until it is quick again', async (t) => {
  const { time, places, begun, put } = withPlaces(t)
  for (let tenant = 0; tenant < 4; tenant += 1) put(`slow${tenant}`, 16)
  await time.pass(1_000)
  places.put('better', 'better')
  await time.pass(1_000)
  places.put('better', 'better')
  await begun.at(-1)?.end()
  t.equal(begun.length, 65, 'it waits for the slow ones')
  await begun[0]?.end()
  t.equal(begun.at(-1)?.line, 'better')
  places.put('better', 'better')
  await begun.at(-1)?.end()
  t.equal(begun.length, 67, 'it was quick, and waits for none')
  t.equal(begun.at(-1)?.line, 'better')
})

t.test(
  'a line has one place: it is sent once more if it is put while it runs, and an error stops no other',
  async (t) => {
    const { time, places, begun, errors } = withPlaces(t)
    places.put('broken', 'acme')
    places.put('broken', 'acme')
    places.put('broken', 'acme')
    await time.settle()
    t.equal(begun.length, 1)
    await begun[0]?.end()
    t.equal(begun.length, 2)
    t.strictSame(errors, ['broken'])
    const closing = places.close()
    places.put('late', 'acme')
    await begun[1]?.end()
    await closing
    t.equal(begun.length, 2, 'nothing begins after the end')
  },
)
