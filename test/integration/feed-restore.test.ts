/** A database restored to an earlier state under event streams: each ends, and its client continues with what there is. */
import pg from 'pg'
import t from 'tap'
import { createEventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { appendTransfers } from '../support/audit.ts'
import { told } from '../support/client.ts'
import type { FeedStream } from '../support/event-stream.ts'
import { serveFeed } from '../support/feed-stage.ts'
import { seedWallet } from '../support/log.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const server = await withLosableServer(t)
const { url } = server
const pool = new pg.Pool({ connectionString: url })
// The server ends the connections.
pool.on('error', () => undefined)
t.after(() => pool.end())
const wakeUps = createWakeUps(pool, url)
t.after(() => wakeUps.close())
const log = createEventLog({ pool, wakeUps, clock: Date.now })
await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
const feed = await serveFeed(t, { pool, url })

async function append(count: number): Promise<string[]> {
  const ids = await appendTransfers(log, count)
  return ids.flatMap((id) => [`evt_transaction-${id}.1`, `evt_transaction-${id}.3`])
}

async function idsOf(stream: FeedStream, count: number): Promise<string[]> {
  return (await stream.events(count)).map(({ id }) => id)
}

const after = (id: string | undefined) => ({ 'last-event-id': id ?? '' })

const kept = await append(2)
const copy = await server.copy()
const lost = await append(2)

t.test('streams end when the database is restored, and those that wait are answered', async (t) => {
  const early = await feed.stream()
  t.strictSame(await idsOf(early, 8), [...kept, ...lost])
  const late = await feed.stream('', after(lost.at(-1)))
  const waiting = feed.page(`after=${encodeURIComponent(lost.at(-1) ?? '')}&wait=60`)
  // The request that waits has read what there is when several later ones, one after the other, were answered.
  for (let later = 0; later < 10; later += 1) await feed.page('limit=1')
  await server.kill()
  await server.restore(copy)
  for (const stream of [early, late]) {
    t.strictSame(await stream.next(), { retry: '1000' }, 'the client is told to connect again')
    t.equal(await stream.next(), null)
    t.equal(stream.response.complete, true, 'it is ended, not cut off')
  }
  t.strictSame((await waiting).events, [])
})

t.test('a client continues after an event that is still there, and gets what is new', async (t) => {
  // Connections of the time before are replaced.
  await eventually(() => feed.page('limit=1'))
  const stream = await feed.stream('', after(kept[1]))
  t.strictSame(await idsOf(stream, 2), kept.slice(2), 'no event of the lost time')
  const fresh = await append(2)
  t.strictSame(await idsOf(stream, 4), fresh)
  stream.close()
  const all = await feed.page('limit=1000')
  t.strictSame(
    all.events.map(({ id }) => id),
    [...kept, ...fresh],
  )
})

t.test('a client that has seen a lost event is told to read its lists again', async (t) => {
  for (const headers of [{ accept: 'text/event-stream', ...after(lost.at(-1)) }, {}]) {
    const answer = await feed.send({ url: `/v1/events?after=${encodeURIComponent(lost.at(-1) ?? '')}`, headers })
    t.equal(answer.status, 422)
    t.match(told(answer)[0], /unknown_event$/)
    t.match(answer.body.message, /read your lists again and continue after their as_of_event/)
  }
})

t.end()
