/** Whose turn it is among the deliveries of one webhook: what fails or is replayed holds back its own resource alone. */
import t from 'tap'
import { retryDelivery } from '../../src/webhooks/read-deliveries.ts'
import { enqueue, START, withDrain } from '../support/webhook-drain-stage.ts'

const DAY = 86_400_000

t.test('a receiver that fails with one type is sent the others', async (t) => {
  const { pool, sent, drain } = await withDrain(t, ({ event }) => (event.endsWith('bad') ? 'failed' : 'delivered'))
  const bad = Array.from({ length: 100 }, (_, n) => [`s${n}.1.bad`, `s${n}.2.good`])
  await enqueue(pool, 'one', [...bad.flat(), 'other.1.good'])
  await drain('one')
  const good = sent.filter(({ event }) => event.endsWith('good'))
  t.strictSame(
    good.map(({ event }) => event),
    ['other.1.good'],
    'what failed holds back its resource',
  )
})

t.test('probes of a receiver that is down take turns among types, and keep the order of each resource', async (t) => {
  const { pool, time, sent, drain } = await withDrain(t, () => 'failed')
  await pool.query('INSERT INTO webhook_health (webhook_id, failing_since) VALUES ($1, $2)', ['one', new Date(START)])
  await enqueue(pool, 'one', ['a.1.x', 'a.2.y', 'b.1.x', 'c.1.y', 'd.1.z', 'd.2.x', 'e.1.x', 'f.1.x'])
  for (let probe = 0; probe < 6; probe += 1, time.now += 301_000) await drain('one')
  t.strictSame(
    sent.map(({ event }) => event.slice(-1)),
    ['x', 'y', 'z', 'x', 'y', 'z'],
  )
  t.strictSame(
    sent.filter(({ event }) => event.includes('.2')),
    [],
  )
})

t.test('a receiver that asks for a pause gets it, also beside deliveries that it took', async (t) => {
  const { pool, time, sent, drain } = await withDrain(t, ({ event }) =>
    event === 'b.1' ? { status: 429, retryAfterMs: 60_000 } : 'delivered',
  )
  await enqueue(pool, 'one', ['a.1', 'b.1'])
  await drain('one')
  await enqueue(pool, 'one', ['c.1'])
  time.now += 59_000
  await drain('one')
  t.strictSame(sent.map(({ event }) => event).sort(), ['a.1', 'b.1'])
  time.now += 2_000
  await drain('one')
  t.strictSame(sent.map(({ event }) => event).sort(), ['a.1', 'b.1', 'b.1', 'c.1'])
})

t.test('an event that its owner asked for is sent at once, beside those that wait before it', async (t) => {
  const { pool, sent, drain } = await withDrain(t, ({ event }) => (event === 'a.1' ? { status: 400 } : 'delivered'))
  await enqueue(pool, 'one', ['a.1', 'a.2', 'a.3'])
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1'],
  )
  await pool.query(`UPDATE webhook_deliveries SET is_asked = true WHERE event_id = 'a.3'`)
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1', 'a.3'],
  )
  await drain('one')
  t.equal(sent.length, 2, 'once')
})

t.test('a replay that is refused holds back no live event of its resource, and rests apart', async (t) => {
  const { pool, sent, drain } = await withDrain(t, ({ event }) => (event === 'a.1' ? { status: 400 } : 'delivered'))
  await enqueue(pool, 'one', ['a.1', 'a.2'])
  await pool.query(`UPDATE webhook_deliveries SET replay_id = 'rpl_1'`)
  await drain('one')
  t.strictSame(sent, [])
  await drain('one-replays')
  await enqueue(pool, 'one', ['b.1', 'a.3'])
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1', 'b.1', 'a.3'],
  )
})

for (const isWanted of [false, true])
  t.test(
    `deliveries that take longer to read than a round lasts are sent, ${isWanted ? '' : 'not '}while others wait`,
    async (t) => {
      const { pool, sent, drain } = await withDrain(t, () => 'delivered', {
        bodiesOf: async (ids) => {
          await pool.query('SELECT pg_sleep(0.6)')
          return new Map(ids.map((id) => [id, (payload) => JSON.stringify({ id, payload })]))
        },
      })
      await enqueue(pool, 'one', ['a.1', 'b.1'])
      await drain('one', { isWanted })
      t.strictSame(
        sent.map(({ event }) => event),
        ['a.1', 'b.1'],
      )
    },
  )

t.test('replays that are refused, as one that a receiver has had already, hold back no live event', async (t) => {
  let isReplay = true
  const { pool, time, sent, drain } = await withDrain(t, () => (isReplay ? { status: 409 } : 'delivered'))
  await enqueue(
    pool,
    'one',
    Array.from({ length: 12 }, (_, n) => `a${n}.1`),
  )
  await pool.query(`UPDATE webhook_deliveries SET replay_id = 'rpl_1'`)
  await drain('one-replays')
  t.ok(sent.length >= 8)
  isReplay = false
  await enqueue(pool, 'one', ['b.1'])
  await drain('one')
  t.equal(sent.at(-1)?.event, 'b.1')
  isReplay = true
  const before = sent.length
  await drain('one-replays')
  time.now += 6_000
  await drain('one-replays')
  t.equal(sent.length, before + 1, 'they rest, and one tries whether they are taken')
  isReplay = false
  time.now += DAY
  await drain('one-replays')
  const { rows } = await pool.query(`SELECT FROM webhook_deliveries WHERE state <> 'delivered'`)
  t.strictSame(rows, [])
})

t.test('a delivery that its owner asks for while it is attempted is attempted once more', async (t) => {
  const { pool, sent, drain } = await withDrain(t, async () => {
    if (sent.length === 1) await retryDelivery({ pool }, 'one', 'one-a.1', new Date(START))
    return sent.length === 1 ? 'failed' : 'delivered'
  })
  await enqueue(pool, 'one', ['a.1'])
  await drain('one')
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1', 'a.1'],
  )
})
