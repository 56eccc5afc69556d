/** When an event stream reads, writes and ends, with a reader that is told what to do. */
import { once } from 'node:events'
import t from 'tap'
import { eventStream } from '../../src/feed/event-stream.ts'
import type { FeedEvent } from '../../src/feed/feed-event.ts'
import type { Reader } from '../../src/feed/reader.ts'

const SCOPES = new Set(['*'])

function eventOf(n: number): FeedEvent {
  const resource = { type: 'wallet', id: 'wal_1', version: n }
  const fields = { type: 'wallet.updated', timestamp: '', api_version: '1', environment: 'mainnet', data: {} } as const
  const place = { transactionId: BigInt(n), position: BigInt(n) }
  return { place, index: 0, scope: 'wallets:read', event: { id: `evt_wallet-wal_1.${n}`, ...fields, resource } }
}

function streamOf(reader: Partial<Reader>) {
  const calls: { takes: number; closes: number; news: () => void } = { takes: 0, closes: 0, news: () => undefined }
  const moved = new AbortController()
  const whole: Reader = {
    take: () => [],
    next: async () => [],
    position: () => null,
    isAtEnd: () => true,
    owedMs: () => 0,
    moved: moved.signal,
    close() {
      calls.closes += 1
    },
    ...reader,
  }
  const stream = eventStream({
    openReader(onNews) {
      calls.news = onNews
      return {
        ...whole,
        take(limit) {
          calls.takes += 1
          return whole.take(limit)
        },
      }
    },
    scopes: SCOPES,
    isKeyValid: async () => true,
    draining: new AbortController().signal,
    onError: () => undefined,
    onStall: () => undefined,
  })
  return { stream, calls, moved }
}

t.test('a client that does not read is written to no further, however much there is', async (t) => {
  let n = 0
  const take = () => {
    n += 1
    return [eventOf(n)]
  }
  const { stream, calls } = streamOf({ take, isAtEnd: () => false })
  for (let news = 0; news < 10; news += 1) calls.news()
  t.equal(calls.takes, 0, 'before the first read')
  let received = 0
  for (let reads = 1; reads <= 5; reads += 1) {
    received += String(stream.read()).split('event: ').length - 1
    for (let news = 0; news < 10; news += 1) calls.news()
    await new Promise(setImmediate)
    t.ok(calls.takes <= received + 1, `${calls.takes} events, ${received} received`)
  }
  t.ok(received > 0)
  stream.destroy()
})

t.test('news that come while the log is read are taken afterwards, and nothing is written meanwhile', async (t) => {
  let finish: (events: readonly FeedEvent[]) => void = () => undefined
  const log = new Promise<readonly FeedEvent[]>((resolve) => {
    finish = resolve
  })
  const ring: (readonly FeedEvent[] | null)[] = [null, [eventOf(2)]]
  const take = () => {
    const taken = ring.shift()
    return taken === undefined ? [] : taken
  }
  const { stream, calls } = streamOf({ take, next: () => log })
  let text = ''
  stream.on('data', (chunk) => {
    text += chunk
  })
  while (calls.takes === 0) await new Promise(setImmediate)
  calls.news()
  t.equal(calls.takes, 1)
  finish([eventOf(1)])
  while (!text.includes('wal_1.2')) await new Promise(setImmediate)
  t.match(text, /wal_1\.1\n[\s\S]*wal_1\.2\n/)
  const taken = calls.takes
  await new Promise(setImmediate)
  t.equal(calls.takes, taken, 'it is not asked again without news')
  stream.destroy()
})

t.test('a stream closes its reader once, whether it is left, moved or broken', async (t) => {
  const left = streamOf({})
  left.stream.destroy()
  const over = streamOf({})
  over.stream.resume()
  over.moved.abort()
  await once(over.stream, 'close')
  const broken = streamOf({
    take() {
      throw new Error('broken')
    },
  })
  broken.stream.resume()
  const [error] = (await once(broken.stream, 'error')) as [Error]
  t.equal(error.message, 'broken')
  for (const { calls } of [left, over, broken]) {
    t.equal(calls.closes, 1)
    t.doesNotThrow(calls.news)
  }
})

t.test('a stream of a tenant that has had too much read for nothing reads the log when that is paid', async (t) => {
  const owed = [30, 20, 0]
  const asked: number[] = []
  const { stream } = streamOf({
    take: () => null,
    owedMs() {
      asked.push(owed[0] ?? 0)
      return owed.shift() ?? 0
    },
    async next() {
      asked.push(-1)
      return [eventOf(1)]
    },
  })
  for await (const chunk of stream) if (String(chunk).includes('data:')) break
  t.strictSame(asked.slice(0, 4), [30, 20, 0, -1])
})
