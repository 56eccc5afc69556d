/**
 * A closed loop: callers that each wait for their answer, with the hash, before they send again; and an open loop of a
 * constant rate. CPU of every process from the request to the settled transaction, what PostgreSQL was asked for each
 * transfer, and how long callers wait for the answer and for the confirmation.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { QueryResultRow } from 'pg'
import { untilQuiet } from './accept.ts'
import { fundTokens, ours, PENDING, sum, TOKEN_TRANSFER, TRANSFER, transferPaths } from './cpu.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { countStatements, withClient } from './database-counters.ts'
import { runLoad } from './load.ts'
import { fundedMpcWallets } from './mpc.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

/** `connections` callers; with `rate`, requests a second of all together, whatever the answers take. */
type Loop = {
  readonly name: string
  readonly paths: readonly string[]
  readonly body: unknown
  readonly connections: number
  readonly count: number
  readonly rate?: number
  /** `respond-async` does not wait for the hash. */
  readonly prefer?: 'respond-async'
}

const WALLETS = 1_000
const TOKEN_WALLETS = 20
const FUNDED_AT_ONCE = 50
const LOOK_MS = 100
/** Before anything is measured: by then the JavaScript engine has compiled what runs often. */
const WARM_UP = 1_000

/** Native and token transfers and mints from hd wallets. */
export async function benchClosed(subject: Subject): Promise<Figure[]> {
  await countStatements(subject)
  const wallets = await manyWallets(subject, WALLETS)
  const few = wallets.slice(0, TOKEN_WALLETS)
  await fundTokens(subject, few)
  const { collection_id: id } = await call<{ collection_id: string }>(subject, 'POST', '/v1/nft/collections/create', {
    name: 'Bench',
    symbol: 'BENCH',
  })
  const mint = {
    collection_id: id,
    recipient: RECIPIENT,
    metadata: { name: 'Bench', image: 'https://example.com/token.png' },
  }
  const native = (connections: number, count: number, size: number, more: Partial<Loop> = {}): Loop => ({
    ...nativeLoop(wallets.slice(0, size), connections, count),
    ...more,
  })
  const loops: readonly Loop[] = [
    native(1, 200, 1),
    native(32, 2_000, 1),
    native(32, 2_000, 20),
    native(64, 2_000, WALLETS),
    native(64, 1_500, WALLETS, { rate: 50, name: `50 a second, ${WALLETS} wallets` }),
    native(32, 2_000, 20, { prefer: 'respond-async', name: '32 callers that do not wait, 20 wallets' }),
    { ...native(32, 1_000, 20), body: TOKEN_TRANSFER, name: 'token, 32 callers, 20 wallets' },
    { ...native(32, 1_000, 1), paths: ['/v1/nft/mint'], body: mint, name: 'mint, 32 callers' },
  ]
  await settle(subject, native(32, WARM_UP, 20))
  const figures: Figure[] = []
  for (const loop of loops) figures.push(...(await measure(subject, loop)))
  return figures
}

/** Native transfers with the queues in Redis. */
export async function benchClosedRedis(subject: Subject): Promise<Figure[]> {
  await countStatements(subject)
  const wallets = await manyWallets(subject, TOKEN_WALLETS)
  await settle(subject, nativeLoop(wallets, 32, WARM_UP))
  const one = wallets.slice(0, 1)
  const figures: Figure[] = []
  for (const loop of [nativeLoop(one, 1, 200), nativeLoop(one, 32, 2_000), nativeLoop(wallets, 32, 2_000)])
    figures.push(...(await measure(subject, { ...loop, name: `Redis, ${loop.name}` })))
  return figures
}

/** Transfers from mpc wallets with three parties, once the pool of keys is full. */
export async function benchClosedMpc(subject: Subject): Promise<Figure[]> {
  await countStatements(subject)
  const paths = transferPaths(await fundedMpcWallets(subject))
  const name = `mpc, 16 callers, ${paths.length} wallets`
  return measure(subject, { name, paths, body: TRANSFER, connections: 16, count: 400 })
}

function nativeLoop(wallets: readonly string[], connections: number, count: number): Loop {
  const [callers, sources] = [connections === 1 ? 'caller' : 'callers', wallets.length === 1 ? 'wallet' : 'wallets']
  const name = `${connections} ${callers}, ${wallets.length} ${sources}`
  return { name, paths: transferPaths(wallets), body: TRANSFER, connections, count }
}

async function manyWallets(subject: Subject, count: number): Promise<string[]> {
  const wallets: string[] = []
  while (wallets.length < count) wallets.push(...(await fundedWallets(subject, FUNDED_AT_ONCE)))
  return wallets
}

async function measure(subject: Subject, loop: Loop): Promise<Figure[]> {
  process.stderr.write(`  ${loop.count} × ${loop.name}\n`)
  await untilQuiet(subject)
  await query(subject, 'SELECT pg_stat_statements_reset()')
  const times = readCpuTimes(subject.service)
  const waited = await settle(subject, loop)
  const used = ours(cpuBetween(times, readCpuTimes(subject.service)))
  const each = (value: number) => value / loop.count
  const total = each(sum(used))
  const figure = (what: string, unit: string, value: number, more: Partial<Figure> = {}): Figure => ({
    bench: `${loop.name}: ${what}`,
    unit,
    ours: value,
    ceiling: 0,
    ceilingIs: '',
    ...more,
  })
  const share = { ceiling: total, ceilingIs: 'all of Bursar' }
  const kinds = await query<{ kind: string; calls: string }>(subject, KINDS)
  return [
    figure('all of Bursar', 'ms CPU', total, { note: `${waited.perSecond.toFixed(0)} transfers/s` }),
    ...used.map(([name, ms]) => figure(name, 'ms CPU', each(ms), share)),
    ...kinds.map(({ kind, calls }) => figure(kind, 'statements', each(Number(calls)))),
    figure('answer, p50', 'ms', waited.p50Ms),
    figure('answer, p99', 'ms', waited.p99Ms),
    figure('confirmation, p50', 'ms', waited.confirmedP50Ms),
    figure('confirmation, p99', 'ms', waited.confirmedP99Ms),
  ]
}

type Waited = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly confirmedP50Ms: number
  readonly confirmedP99Ms: number
}

/** Returns when every transaction has its confirmations. @throws Error when one of them failed */
async function settle(subject: Subject, { paths, body, connections, count, rate, prefer }: Loop): Promise<Waited> {
  const [before] = await query<{ position: string }>(subject, 'SELECT max(position) AS position FROM events')
  const load = await runLoad({
    url: subject.service.state().base_url,
    method: 'POST',
    headers: { ...authHeaders(subject), ...(prefer === undefined ? {} : { prefer }) },
    body: JSON.stringify(body),
    paths,
    connections,
    amount: count,
    ...(rate === undefined ? {} : { rate }),
  })
  while (Number((await query<{ n: string }>(subject, PENDING))[0]?.n) > 0) await sleep(LOOK_MS)
  const [settled] = await query<{ n: string; p50: string; p99: string }>(subject, CONFIRMED_SINCE, [before?.position])
  if (Number(settled?.n) !== count) throw new Error(`${settled?.n} of ${count} transactions were confirmed`)
  const { perSecond, p50Ms, p99Ms } = load
  return { perSecond, p50Ms, p99Ms, confirmedP50Ms: Number(settled?.p50), confirmedP99Ms: Number(settled?.p99) }
}

function query<Row extends QueryResultRow>(
  subject: Subject,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return withClient(subject, async (client) => (await client.query<Row>(text, [...values])).rows)
}

/** From the record of the request to the record of the confirmation. */
const CONFIRMED_SINCE = `
  SELECT count(*) AS n,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM e.recorded_at - o.recorded_at) * 1000) AS p50,
         percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM e.recorded_at - o.recorded_at) * 1000) AS p99
    FROM events e JOIN events o ON o.stream_id = e.stream_id AND o.stream_version = 1 AND o.position > $1
   WHERE e.type = 'TransactionConfirmed' AND e.position > $1`

const KINDS = `
  SELECT CASE WHEN query LIKE '%append_commits(%' THEN 'appends'
              WHEN query LIKE '%\\_lease%' THEN 'leases'
              WHEN query LIKE '%bullmq%' THEN 'jobs'
              WHEN query ~* '^(begin|commit|rollback|listen|notify|select pg_notify)' THEN 'control and wake-ups'
              ELSE 'reads and others' END AS kind,
         sum(calls) AS calls
    FROM pg_stat_statements GROUP BY 1 ORDER BY 2 DESC`
