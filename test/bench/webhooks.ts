/**
 * Webhooks: deliveries a second and their CPU beside a bare loop of signed POSTs, from the record of an event to its
 * arrival at a receiver, and what webhooks add to the CPU and the duration of transfers.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { untilQuiet } from './accept.ts'
import { ours, settle, sum, TRANSFER, transferPaths } from './cpu.ts'
import { type CpuTimes, cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { change, latencyFigure } from './feed.ts'
import { runLoad } from './load.ts'
import { readMemory } from './process-memory.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject } from './subject.ts'
import type { Arrived } from './webhook-sink.ts'

/** As many as the sender has to one receiver. */
const CONNECTIONS = 8
/** Transfers whose events wait until the sender may send them. */
const WAITING = 500
const IDLE_EVENTS = 200
const IDLE_PAUSE_MS = 30
const PER_SECOND = 100
const BESIDE = 1_000
const WEBHOOKS = 10
const TRANSFERS = 600
/** Of each way in turn, so that the load of the machine affects all alike. */
const ROUNDS = 3
const LOOK_MS = 50
const SETTLED_MS = 2_000

const SENDER = 'webhook-sender'
const CONFIRMED = ['transaction.confirmed']

type Stage = {
  readonly subject: Subject
  readonly pool: pg.Pool
  readonly sink: ChildProcess
  readonly url: string
  readonly paths: readonly string[]
}

export async function benchWebhooks(subject: Subject): Promise<Figure[]> {
  const sink = fork(fileURLToPath(new URL('webhook-sink.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  const [url] = (await once(sink, 'message')) as [string]
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 1 })
  // The database ends at once after the bench, perhaps before the connection does.
  pool.on('error', () => undefined)
  const wallets = await fundedWallets(subject, 20)
  const stage: Stage = { subject, pool, sink, url, paths: transferPaths(wallets) }
  try {
    return [
      ...(await sending(stage)),
      ...(await latencies(stage, wallets[0] ?? '')),
      ...(await besideTransfers(stage)),
      memoryFigure(subject),
    ]
  } finally {
    await pool.end()
    sink.disconnect()
  }
}

async function create({ subject, url }: Stage, types: readonly string[] | null): Promise<string> {
  const body = { url, types }
  return (await call<{ webhook_id: string }>(subject, 'POST', '/v1/webhooks', body)).webhook_id
}

async function remove({ subject }: Stage, webhookIds: readonly string[]): Promise<void> {
  for (const id of webhookIds) await call(subject, 'DELETE', `/v1/webhooks/${id}`)
}

/** What arrived since the last call. */
async function take({ sink }: Stage): Promise<Arrived> {
  sink.send('take')
  return ((await once(sink, 'message')) as [Arrived])[0]
}

async function transfer({ subject, paths }: Stage, count: number): Promise<void> {
  await settle(subject, { name: 'transfer', count, paths, body: TRANSFER })
}

/** Deliveries that wait. Those of a deleted webhook are never sent. */
async function pending({ pool }: Stage): Promise<number> {
  return Number((await pool.query<{ n: string }>(PENDING)).rows[0]?.n)
}

const PENDING = `SELECT count(*) AS n FROM webhook_deliveries JOIN webhooks USING (webhook_id)
  WHERE state = 'pending' AND status <> 'deleted'`

async function untilSent(stage: Stage): Promise<void> {
  while ((await pending(stage)) > 0) await sleep(LOOK_MS)
}

/** The events of as many transfers, twice: the first time compiles what is measured. */
async function sending(stage: Stage): Promise<Figure[]> {
  const id = await create(stage, null)
  await sendWaiting(stage, id)
  const { arrived, used } = await sendWaiting(stage, id)
  await remove(stage, [id])
  const bare = await sendBare(stage, arrived.count, Math.round(arrived.bytes / arrived.count))
  const perSecond = ({ count, ms }: Arrived) => (1_000 * (count - 1)) / ms
  const cpuMs = (name: string) => (used.get(name) ?? 0) / arrived.count
  return [
    {
      bench: 'one sender, one receiver',
      unit: 'deliveries/s',
      ours: perSecond(arrived),
      ceiling: perSecond(bare.arrived),
      ceilingIs: `a bare loop of signed POSTs, ${CONNECTIONS} connections`,
      note: `${arrived.count} deliveries, of ${Math.round(arrived.bytes / arrived.count)} bytes`,
    },
    {
      bench: 'one sender: CPU for each delivery',
      unit: 'ms',
      ours: cpuMs(SENDER),
      ceiling: bare.cpuMs / arrived.count,
      ceilingIs: 'the same loop',
      note: `and ${cpuMs('postgres').toFixed(2)} ms of PostgreSQL`,
    },
  ]
}

/** What waits while the webhook is disabled is sent when it is enabled. */
async function sendWaiting(stage: Stage, id: string): Promise<{ readonly arrived: Arrived; readonly used: CpuTimes }> {
  const { subject } = stage
  await untilSent(stage)
  await call(subject, 'POST', `/v1/webhooks/${id}/disable`)
  await transfer(stage, WAITING)
  await untilQuiet(subject)
  for (let before = -1, now = 0; now !== before; now = await pending(stage)) {
    before = now
    await sleep(SETTLED_MS)
  }
  await take(stage)
  const times = readCpuTimes(subject.service)
  await call(subject, 'POST', `/v1/webhooks/${id}/enable`)
  await untilSent(stage)
  const used = cpuBetween(times, readCpuTimes(subject.service))
  return { arrived: await take(stage), used }
}

async function sendBare(
  stage: Stage,
  count: number,
  bytes: number,
): Promise<{ readonly arrived: Arrived; readonly cpuMs: number }> {
  const entry = fileURLToPath(new URL('bare-sender.ts', import.meta.url))
  const parameters = [stage.url, CONNECTIONS, count, bytes].map(String)
  const child = fork(entry, parameters, { execArgv: ['--import', 'tsx'] })
  await once(child, 'message')
  await take(stage)
  child.send('start')
  const [cpuMs] = (await once(child, 'message')) as [number]
  return { arrived: await take(stage), cpuMs }
}

async function latencies(stage: Stage, walletId: string): Promise<Figure[]> {
  const { subject, paths } = stage
  const id = await create(stage, null)
  const idle = await latencyOf(stage, () => change(subject, walletId, IDLE_EVENTS, () => sleep(IDLE_PAUSE_MS)))
  const beside = await latencyOf(stage, async () => {
    await runLoad({
      url: subject.service.state().base_url,
      method: 'POST',
      headers: { ...authHeaders(subject), prefer: 'respond-async' },
      body: JSON.stringify(TRANSFER),
      paths,
      connections: 16,
      rate: PER_SECOND,
      amount: BESIDE,
    })
    await untilQuiet(subject)
  })
  await remove(stage, [id])
  return [
    latencyFigure('recorded until received, idle', idle),
    latencyFigure(`recorded until received, beside ${PER_SECOND} transfers a second`, beside),
  ]
}

/** Sorted, ms. */
async function latencyOf(stage: Stage, work: () => Promise<void>): Promise<number[]> {
  await take(stage)
  await work()
  await sleep(SETTLED_MS)
  await untilSent(stage)
  return [...(await take(stage)).waited].sort((a, b) => a - b)
}

type Cost = { cpuMs: number; durationMs: number; deliveries: number }

/** The same transfers without webhooks and with them. The CPU is that until the last delivery. */
async function besideTransfers(stage: Stage): Promise<Figure[]> {
  const ways = [
    { name: 'without webhooks', webhooks: 0, types: CONFIRMED },
    { name: `${WEBHOOKS} webhooks for ${CONFIRMED}`, webhooks: WEBHOOKS, types: CONFIRMED },
    { name: `${WEBHOOKS} webhooks for all types`, webhooks: WEBHOOKS, types: null },
  ].map((way) => ({ ...way, cost: { cpuMs: 0, durationMs: 0, deliveries: 0 } }))
  for (let round = 0; round < ROUNDS; round += 1)
    for (const way of ways) await addCost(stage, way.webhooks, way.types, way.cost)
  const all = ROUNDS * TRANSFERS
  const base = ways[0]?.cost ?? { cpuMs: 0, durationMs: 0, deliveries: 0 }
  return ways.map(({ name, cost }) => ({
    bench: `CPU of a transfer, ${name}`,
    unit: 'ms',
    ours: cost.cpuMs / all,
    ceiling: base.cpuMs / all,
    ceilingIs: 'the same without webhooks',
    note: `${cost.deliveries / all} deliveries for each; ${Math.round((1_000 * all) / cost.durationMs)} transfers/s until confirmed`,
  }))
}

async function addCost(stage: Stage, webhooks: number, types: readonly string[] | null, cost: Cost): Promise<void> {
  const { subject } = stage
  const ids: string[] = []
  for (let n = 0; n < webhooks; n += 1) ids.push(await create(stage, types))
  await sleep(SETTLED_MS)
  await untilSent(stage)
  await take(stage)
  const times = readCpuTimes(subject.service)
  const startedAt = performance.now()
  await transfer(stage, TRANSFERS)
  cost.durationMs += performance.now() - startedAt
  for (let confirmed = 0; ; ) {
    const arrived = await take(stage)
    confirmed += arrived.confirmed
    cost.deliveries += arrived.count
    if (confirmed >= webhooks * TRANSFERS && (await pending(stage)) === 0) break
    await sleep(LOOK_MS)
  }
  cost.cpuMs += sum(ours(cpuBetween(times, readCpuTimes(subject.service))))
  await remove(stage, ids)
}

function memoryFigure({ service }: Subject): Figure {
  const ours = readMemory(service).get(SENDER) ?? 0
  return { bench: 'memory of the sender after the above', unit: 'MB', ours, ceiling: 0, ceilingIs: '' }
}
