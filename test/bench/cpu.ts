/**
 * What one transfer, token transfer, mint or mpc transfer costs: CPU of every process from the request to the settled
 * transaction, and WAL bytes, statements and rows of PostgreSQL.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inNoBlock, inUnsettledBlock } from '../../src/transactions/sql.ts'
import { untilQuiet, withWorkersHeld } from './accept.ts'
import { type CpuTimes, cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { countStatements, readDatabaseCounters } from './database-counters.ts'
import { runLoad } from './load.ts'
import { fundedMpcWallets } from './mpc.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, RECIPIENT, type Subject } from './subject.ts'

const TRANSFERS = 3_000
const MINTS = 1_000
/** Of each kind, before anything is measured: by then the JavaScript engine has compiled what runs often. */
const WARM_UP = 1_000
const MPC_TRANSFERS = 400
const CONNECTIONS = 64
const REST_MS = 30_000
/** By then every poll has become as rare as it gets: the sweeper's as the last, after 50 s. */
const QUIET_MS = 70_000
const LOOK_MS = 100
/** Processes of the sandbox that are no part of Bursar: the local chains. */
const NODES: readonly string[] = ['anvil-ethereum', 'anvil-polygon', 'anvil-binance']
export const TRANSFER = { to: RECIPIENT, amount: '0.0000001', asset: 'ETH' }
export const TOKEN_TRANSFER = { to: RECIPIENT, amount: '0.01', asset: 'USDC' }

type Work = {
  readonly name: string
  readonly count: number
  readonly paths: readonly string[]
  readonly body: unknown
}

/** Transfers of native currency and tokens, and mints, from hd wallets. */
export async function benchCpu(subject: Subject): Promise<Figure[]> {
  await countStatements(subject)
  const wallets = await fundedWallets(subject, 20)
  await fundTokens(subject, wallets)
  const body = { name: 'Bench', symbol: 'BENCH' }
  const { collection_id: id } = await call<{ collection_id: string }>(
    subject,
    'POST',
    '/v1/nft/collections/create',
    body,
  )
  const metadata = { name: 'Bench', image: 'https://example.com/token.png' }
  const mint = { collection_id: id, recipient: RECIPIENT, metadata }
  const works: readonly Work[] = [
    { name: 'transfer, 1 wallet', count: TRANSFERS, paths: transferPaths(wallets.slice(0, 1)), body: TRANSFER },
    { name: 'transfer, 20 wallets', count: TRANSFERS, paths: transferPaths(wallets), body: TRANSFER },
    { name: 'token transfer, 20 wallets', count: TRANSFERS, paths: transferPaths(wallets), body: TOKEN_TRANSFER },
    { name: 'mint', count: MINTS, paths: ['/v1/nft/mint'], body: mint },
  ]
  for (const work of works) await settle(subject, { ...work, count: WARM_UP })
  const figures: Figure[] = []
  for (const work of works) figures.push(...(await measure(subject, work)))
  return figures
}

/** Transfers from mpc wallets, with three parties. */
export async function benchCpuMpc(subject: Subject): Promise<Figure[]> {
  await countStatements(subject)
  const paths = transferPaths(await fundedMpcWallets(subject))
  const work = { name: 'mpc transfer, 8 wallets', count: MPC_TRANSFERS, paths, body: TRANSFER }
  return measure(subject, work)
}

export function transferPaths(wallets: readonly string[]): readonly string[] {
  return wallets.map((wallet) => `/v1/wallets/${wallet}/transfer`)
}

/** Requests of one API key and the CPU of each: nothing but accepting, since the workers are stopped. */
export type AcceptRound = {
  readonly perSecond: number
  readonly cpuMs: number
  readonly apiMs: number
  readonly postgresMs: number
}

/** @param amount of transfers, from the wallets of the paths in turn */
export async function acceptRound(
  subject: Subject,
  { headers, paths }: { readonly headers: Record<string, string>; readonly paths: readonly string[] },
  amount: number,
  connections: number,
): Promise<AcceptRound> {
  const load = {
    url: subject.service.state().base_url,
    method: 'POST',
    body: JSON.stringify(TRANSFER),
    headers: { ...headers, prefer: 'respond-async' },
    paths,
    connections,
  } as const
  const before = readCpuTimes(subject.service)
  const { perSecond } = await withWorkersHeld(subject, () => runLoad({ ...load, amount }))
  const used = cpuBetween(before, readCpuTimes(subject.service))
  const [apiMs, postgresMs] = [(used.get('api') ?? 0) / amount, (used.get('postgres') ?? 0) / amount]
  return { perSecond, cpuMs: apiMs + postgresMs, apiMs, postgresMs }
}

export async function fundTokens(subject: Subject, wallets: readonly string[]): Promise<void> {
  for (const wallet of wallets) {
    const { address } = await call<{ address: string }>(subject, 'GET', `/v1/wallets/${wallet}`)
    const body = { address, network: 'ethereum', asset: 'USDC', amount: '1000' }
    await call(subject, 'POST', '/v1/sandbox/faucet', body)
  }
}

/** What all processes use while nothing happens. */
export async function benchRest(subject: Subject): Promise<Figure[]> {
  await untilQuiet(subject)
  await sleep(QUIET_MS)
  const before = readCpuTimes(subject.service)
  await sleep(REST_MS)
  const used = ours(cpuBetween(before, readCpuTimes(subject.service)))
  const share = (ms: number) => (100 * ms) / REST_MS
  const total = share(sum(used))
  return [...used, ['all of Bursar', sum(used)] as const].map(([name, ms]) => ({
    bench: `at rest: ${name}`,
    unit: '% of a core',
    ours: share(ms),
    ceiling: total,
    ceilingIs: 'all of Bursar',
  }))
}

async function measure(subject: Subject, work: Work): Promise<Figure[]> {
  process.stderr.write(`  ${work.count} × ${work.name}\n`)
  await untilQuiet(subject)
  const counters = await readDatabaseCounters(subject)
  const times = readCpuTimes(subject.service)
  await settle(subject, work)
  const used = cpuBetween(times, readCpuTimes(subject.service))
  const after = await readDatabaseCounters(subject)
  const each = (value: number) => value / work.count
  const total = sum(ours(used))
  const figure = (what: string, unit: string, value: number, more: Partial<Figure> = {}): Figure => ({
    bench: `${work.name}: ${what}`,
    unit,
    ours: each(value),
    ceiling: 0,
    ceilingIs: '',
    ...more,
  })
  const share = { ceiling: each(total), ceilingIs: 'all of Bursar' }
  const nodes = sum([...used].filter(([name]) => NODES.includes(name)))
  return [
    ...ours(used).map(([name, ms]) => figure(name, 'ms CPU', ms, share)),
    figure('all of Bursar', 'ms CPU', total, { ceiling: each(nodes), ceilingIs: 'the node' }),
    figure('WAL', 'bytes', after.walBytes - counters.walBytes),
    figure('statements', '', after.statements - counters.statements),
    figure('rows changed', '', after.rows - counters.rows),
  ]
}

/** Sends the requests and returns when every transaction has its confirmations. @throws Error when one of them failed */
export async function settle(subject: Subject, work: Work): Promise<void> {
  const { base_url: url, database_url: connectionString } = subject.service.state()
  const pool = new pg.Pool({ connectionString, max: 1 })
  const count = async (text: string) => Number((await pool.query<{ n: string }>(text)).rows[0]?.n)
  const before = await count(CONFIRMED)
  await runLoad({
    url,
    method: 'POST',
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
    body: JSON.stringify(work.body),
    paths: work.paths,
    connections: CONNECTIONS,
    amount: work.count,
  })
  while ((await count(PENDING)) > 0) await sleep(LOOK_MS)
  const missing = work.count - ((await count(CONFIRMED)) - before)
  await pool.end()
  if (missing > 0) throw new Error(`${missing} of ${work.count} transactions were not confirmed`)
}

const CONFIRMED = `SELECT count(*) AS n FROM transactions WHERE state = 'confirmed'`
/** From two small indexes: a count of all confirmed rows, ten times a second, would be a sixth of PostgreSQL's CPU. */
export const PENDING = `SELECT (SELECT count(*) FROM transactions t WHERE ${inNoBlock('t')})
  + (SELECT count(*) FROM transactions t WHERE ${inUnsettledBlock('t')}) AS n`

/** Processes of Bursar, largest first. */
export function ours(times: CpuTimes): readonly (readonly [string, number])[] {
  return [...times].filter(([name]) => !NODES.includes(name)).sort(([, a], [, b]) => b - a)
}

export function sum(times: readonly (readonly [string, number])[]): number {
  return times.reduce((total, [, ms]) => total + ms, 0)
}
