/**
 * The event feed: from the record of an event to its arrival at a client of the event stream, idle and beside transfers;
 * what each of many streams costs; and reading a whole log through pages and a stream.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { untilQuiet } from './accept.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { openIds, openStream, openStreams, positionOf } from './feed-clients.ts'
import { fillLog, makeModels } from './fill-log.ts'
import { runLoad } from './load.ts'
import { readMemory } from './process-memory.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const IDLE_EVENTS = 300
const IDLE_PAUSE_MS = 20
const TRANSFERS = 1_500
const TRANSFERS_PER_SECOND = 100
const STREAMS = 500
const EVENTS_TO_ALL = 200
const PAGE = 1_000
/** Public events of one event of the log: less than this. */
const MOST_OF_ONE = 100
const TRANSFER = { to: RECIPIENT, amount: '0.0000001', asset: 'ETH' }

/** @param events the size of the log that is read whole */
export async function benchFeed(subject: Subject, events: number): Promise<Figure[]> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  await untilQuiet(subject)
  await change(subject, walletId, 50) // Compiles what is measured.
  return [
    ...(await latencies(subject, walletId)),
    ...(await manyStreams(subject, walletId)),
    ...(await readWhole(subject, events)),
  ]
}

/** Events of one wallet, one after the other. */
export async function change(
  subject: Subject,
  walletId: string,
  count: number,
  done?: () => Promise<void>,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await call(subject, 'PATCH', `/v1/wallets/${walletId}`, { label: `bench ${performance.now()}` })
    await done?.()
  }
}

async function latencies(subject: Subject, walletId: string): Promise<Figure[]> {
  const idle = await latencyOf(subject, () => change(subject, walletId, IDLE_EVENTS, () => sleep(IDLE_PAUSE_MS)))
  const beside = await latencyOf(subject, async () => {
    await runLoad({
      url: `${subject.service.state().base_url}/v1/wallets/${walletId}/transfer`,
      method: 'POST',
      headers: { ...authHeaders(subject), prefer: 'respond-async' },
      body: JSON.stringify(TRANSFER),
      connections: 16,
      rate: TRANSFERS_PER_SECOND,
      amount: TRANSFERS,
    })
    await untilQuiet(subject)
  })
  return [
    latencyFigure('recorded until received, idle', idle),
    latencyFigure(`recorded until received, beside ${TRANSFERS_PER_SECOND} transfers a second`, beside),
  ]
}

/** Sorted, ms: events that were recorded while the work ran. */
async function latencyOf(subject: Subject, work: () => Promise<void>): Promise<number[]> {
  const after = await positionOf(subject)
  const waited: number[] = []
  const stream = await openStream(
    subject,
    after,
    ({ timestamp }) => void waited.push(Date.now() - Date.parse(timestamp)),
  )
  await work()
  stream.close()
  return waited.sort((a, b) => a - b)
}

/** @param sorted ms */
export function latencyFigure(bench: string, sorted: readonly number[]): Figure {
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  const note = `p50; p99 ${at(0.99)} ms, the longest ${at(1)} ms; ${sorted.length} events`
  return { bench, unit: 'ms', ours: at(0.5), ceiling: 0, ceilingIs: '', note }
}

/** The same changes with one stream and with many: the difference is what the streams cost. */
async function manyStreams(subject: Subject, walletId: string): Promise<Figure[]> {
  const few = await streamsCost(subject, walletId, 1)
  const many = await streamsCost(subject, walletId, STREAMS)
  const bare = await bareCost(subject, Math.round(many.bytes))
  const deliveries = EVENTS_TO_ALL * (STREAMS - 1)
  const name = `${STREAMS} streams`
  return [
    {
      bench: `${name}: memory of the API for each`,
      unit: 'kB',
      ours: (1_024 * many.memoryMb) / STREAMS,
      ceiling: 0,
      ceilingIs: '',
      note: `${Math.round(many.memoryMb)} MB in all, after ${2 * EVENTS_TO_ALL} events to each`,
    },
    ...(['one at a time', 'in a row'] as const).map(
      (way, n): Figure => ({
        bench: `${name}: CPU of the API for each event delivered, ${way}`,
        unit: 'µs',
        ours: (1_000 * ((many.cpuMs[n] ?? 0) - (few.cpuMs[n] ?? 0))) / deliveries,
        ceiling: (1_000 * bare) / (EVENTS_TO_ALL * STREAMS),
        ceilingIs: 'a bare server that writes the same bytes to each of as many responses, one at a time',
        note: `events of ${Math.round(many.bytes)} bytes`,
      }),
    ),
  ]
}

type StreamsCost = {
  /** CPU of the API for events that each wait for the one before to arrive, and for events without a pause, ms. */
  readonly cpuMs: readonly number[]
  readonly memoryMb: number
  readonly bytes: number
}

async function streamsCost(subject: Subject, walletId: string, count: number): Promise<StreamsCost> {
  const memory = () => readMemory(subject.service).get('api') ?? 0
  const before = memory()
  const streams = await openStreams(subject, await positionOf(subject), count)
  let sent = 0
  const arrived = async () => {
    while (streams.fewest() < sent) await sleep(1)
  }
  const cpuMs: number[] = []
  for (const way of [
    () =>
      change(subject, walletId, EVENTS_TO_ALL, () => {
        sent += 1
        return arrived()
      }),
    async () => {
      await change(subject, walletId, EVENTS_TO_ALL)
      sent += EVENTS_TO_ALL
      await arrived()
    },
  ]) {
    const times = readCpuTimes(subject.service)
    await way()
    cpuMs.push(cpuBetween(times, readCpuTimes(subject.service)).get('api') ?? 0)
  }
  const cost = { cpuMs, memoryMb: memory() - before, bytes: streams.bytes() / (count * sent) }
  streams.close()
  return cost
}

/** CPU of the bare server for texts of this size, each to all streams, ms. */
async function bareCost(subject: Subject, bytes: number): Promise<number> {
  const streams = await openStreams(subject, null, STREAMS, `${subject.bareUrl}/stream`)
  const head = 'id: bench\nevent: bench\ndata: '
  const body = JSON.stringify({ text: `${head}${'x'.repeat(Math.max(0, bytes - head.length - 2))}\n\n` })
  const cpuMs: number[] = []
  for (let sent = 1; sent <= EVENTS_TO_ALL; sent += 1) {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${subject.bareUrl}/push`, { method: 'POST', headers, body })
    cpuMs.push(((await answer.json()) as { readonly cpuMs: number }).cpuMs)
    while (streams.fewest() < sent) await sleep(1)
  }
  streams.close()
  return (cpuMs.at(-1) ?? 0) - (cpuMs[0] ?? 0)
}

/** The same number of public events each time. */
async function readWhole(subject: Subject, events: number): Promise<Figure[]> {
  await fillLog(subject, await makeModels(subject), events, 0)
  await untilQuiet(subject)
  await readPages(subject, 20) // Compiles what is measured.
  const pages = await reading(subject, () => readPages(subject, Number.POSITIVE_INFINITY))
  const stream = await reading(subject, () => readStream(subject, pages.count))
  if (stream.digest !== pages.digest) throw new Error('the stream has other events than the pages')
  const bare = await reading(subject, () => readRows(subject))
  const figure = (way: string, { count, ms, cpuUs }: Reading): Figure => ({
    bench: `a log of ${events.toLocaleString('en-US')} events by ${way}`,
    unit: 'events/s',
    ours: (1_000 * count) / ms,
    ceiling: (1_000 * count) / bare.ms,
    ceilingIs: 'reading the same rows of the log, and nothing else',
    note: `${count.toLocaleString('en-US')} public events; CPU for each: ${cpuUs('api')} µs API, ${cpuUs('postgres')} µs PostgreSQL`,
  })
  return [figure(`pages of ${PAGE.toLocaleString('en-US')}`, pages), figure('an event stream', stream)]
}

type Read = { readonly count: number; readonly digest: string }
type Reading = Read & { readonly ms: number; readonly cpuUs: (process: string) => number }

async function reading(subject: Subject, read: () => Promise<Read>): Promise<Reading> {
  const startedAt = performance.now()
  const times = readCpuTimes(subject.service)
  const { count, digest } = await read()
  const used = cpuBetween(times, readCpuTimes(subject.service))
  return {
    count,
    digest,
    ms: performance.now() - startedAt,
    cpuUs: (process) => Math.round((1_000 * (used.get(process) ?? 0)) / count),
  }
}

/** Each event of a stream comes once, and after those before it. */
function createIdCheck() {
  const newest = new Map<string, number>()
  const digest = createHash('sha256')
  let count = 0
  return {
    /** @throws Error when an event comes twice or too late */
    take(id: string): void {
      const [, stream = '', version, index = '0'] = /^evt_(.+)\.(\d+)(?:~(\d+))?$/.exec(id) ?? []
      const place = Number(version) * MOST_OF_ONE + Number(index)
      if (!(place > (newest.get(stream) ?? 0))) throw new Error(`${id} came twice, or too late`)
      newest.set(stream, place)
      digest.update(id)
      count += 1
    },
    count: () => count,
    read: (): Read => ({ count, digest: digest.digest('hex') }),
  }
}

type Page = {
  readonly events: readonly { readonly id: string }[]
  readonly next_after: string
  readonly has_more: boolean
}

async function readPages(subject: Subject, most: number): Promise<Read> {
  const ids = createIdCheck()
  let after = ''
  for (let pages = 0; pages < most; pages += 1) {
    const page = await call<Page>(subject, 'GET', `/v1/events?limit=${PAGE}${after}`)
    for (const { id } of page.events) ids.take(id)
    if (!page.has_more) break
    after = `&after=${encodeURIComponent(page.next_after)}`
  }
  return ids.read()
}

async function readStream(subject: Subject, count: number): Promise<Read> {
  const ids = createIdCheck()
  const stream = await openIds(subject, null, ids.take)
  while (ids.count() < count) await sleep(1)
  stream.close()
  return ids.read()
}

async function readRows({ service }: Subject): Promise<Read> {
  const pool = new pg.Pool({ connectionString: service.state().database_url, max: 1 })
  let place = ['0', '0']
  let count = 0
  for (let read = PAGE; read === PAGE; count += read) {
    const { rows } = await pool.query<{ transaction_id: string; position: string }>({
      ...ROWS,
      values: [...place, PAGE],
    })
    read = rows.length
    const last = rows.at(-1)
    if (last !== undefined) place = [last.transaction_id, last.position]
  }
  await pool.end()
  return { count, digest: '' }
}

const ROWS = {
  name: 'rows',
  text: `SELECT transaction_id::text, position::text, stream_id, stream_version, type, data, recorded_at FROM events
          WHERE (events.transaction_id, events.position) > ($1::xid8, $2::bigint)
          ORDER BY events.transaction_id, events.position LIMIT $3`,
}
