/**
 * Filters of the event feed that match nothing, on a long log: their duration, CPU and rows of the log, and what a key
 * that asks for them all the time costs another tenant.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { accepted, createClient } from '../support/client.ts'
import { untilQuiet } from './accept.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { withClient } from './database-counters.ts'
import { fillLog, makeModels } from './fill-log.ts'
import { runLoad } from './load.ts'
import { median } from './mpc.ts'
import { runOperator } from './operator.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject } from './subject.ts'

const REPEATS = 30
const MOST_MS = 20
const MOST_ROWS = 200
/** A backend reports its counters at most once a second. */
const REPORTED_AFTER_MS = 1_500
const PER_SECOND = 50
const CONNECTIONS = 16
const SECONDS = 10
/** Alone and beside the filters in turn, so that the load of the machine affects both alike. */
const ROUNDS = 5
const MOST_GROWTH = 1.2

/** @param events the size of the log */
export async function benchFilters(subject: Subject, events: number): Promise<Figure[]> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  await fillLog(subject, await makeModels(subject), events, 0)
  await untilQuiet(subject)
  const paths = [
    'types=nft.mint.minted',
    'types=transaction.reorged,transaction.cancelled,transaction.failed',
    'types=webhook.deleted,asset.removed,api_key.revoked',
    'resource=tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13',
    'resource=mint_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13',
    `types=wallet.archived&resource=${walletId}`,
  ].map((query) => `/v1/events?${query}`)
  return [...(await costs(subject, paths, events)), ...(await besideOthers(subject, paths))]
}

/** Each filter alone, one request after the other. */
async function costs(subject: Subject, paths: readonly string[], events: number): Promise<Figure[]> {
  for (const path of paths) await requireNothing(subject, path)
  const rows = await readRows(subject)
  const times = readCpuTimes(subject.service)
  const medians: number[] = []
  for (const path of paths) {
    const waited: number[] = []
    for (let n = 0; n < REPEATS; n += 1) {
      const startedAt = performance.now()
      await call(subject, 'GET', path)
      waited.push(performance.now() - startedAt)
    }
    medians.push(median(waited))
  }
  const used = cpuBetween(times, readCpuTimes(subject.service))
  const requests = paths.length * REPEATS
  const cpuMs = (name: string) => ((used.get(name) ?? 0) / requests).toFixed(1)
  const of = `a filter that matches nothing, of ${events.toLocaleString('en-US')} events`
  return [
    {
      bench: of,
      unit: 'ms',
      ours: Math.max(...medians),
      ceiling: MOST_MS,
      ceilingIs: 'the most it may take',
      note: `medians of ${REPEATS} for ${paths.length} filters: ${Math.min(...medians).toFixed(1)} to ${Math.max(...medians).toFixed(1)} ms; CPU for each: ${cpuMs('api')} ms API, ${cpuMs('postgres')} ms PostgreSQL`,
      isLimit: true,
    },
    {
      bench: `${of}: rows of the log`,
      unit: 'rows',
      ours: ((await readRows(subject)) - rows) / requests,
      ceiling: MOST_ROWS,
      ceilingIs: 'the most it may read',
      note: 'mean, by the counters of PostgreSQL',
      isLimit: true,
    },
  ]
}

/** @throws Error when the filter lets something through */
async function requireNothing(subject: Subject, path: string): Promise<void> {
  const { events } = await call<{ events: readonly unknown[] }>(subject, 'GET', path)
  if (events.length > 0) throw new Error(`${path} matches ${events.length} events`)
}

/** Rows of the log that were read since the start of the server. */
async function readRows(subject: Subject): Promise<number> {
  await sleep(REPORTED_AFTER_MS)
  return withClient(subject, async (client) => {
    const { rows } = await client.query<{ n: string }>(
      `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS n FROM pg_stat_user_tables WHERE relname = 'events'`,
    )
    return Number(rows[0]?.n)
  })
}

/** What another tenant waits for its wallet, alone and while one key asks for nothing all the time. */
async function besideOthers(subject: Subject, paths: readonly string[]): Promise<Figure[]> {
  const { base_url: url } = subject.service.state()
  const other = await otherTenant(subject)
  const read = () => runLoad({ ...other, method: 'GET', connections: 2, rate: PER_SECOND, seconds: SECONDS })
  const filter = { url, method: 'GET', headers: authHeaders(subject), paths, connections: CONNECTIONS } as const
  await read() // Compiles what is measured.
  const rounds: { readonly alone: number; readonly beside: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const alone = await read()
    const [beside] = await Promise.all([read(), runLoad({ ...filter, rate: PER_SECOND, seconds: SECONDS })])
    rounds.push({ alone: alone.p99Ms, beside: beside.p99Ms })
  }
  return [
    {
      bench: `p99 of another tenant's read beside ${PER_SECOND} filters a second that match nothing`,
      unit: 'ms',
      ours: median(rounds.map(({ beside }) => beside)),
      ceiling: MOST_GROWTH * median(rounds.map(({ alone }) => alone)),
      ceilingIs: 'a fifth more than alone',
      note: `medians of ${ROUNDS}; alone → beside: ${rounds.map(({ alone, beside }) => `${alone} → ${beside}`).join(', ')} ms`,
      isLimit: true,
    },
  ]
}

/** A wallet of another tenant, and the key that reads it. */
async function otherTenant({ service }: Subject) {
  const { base_url: url, database_url: DATABASE_URL } = service.state()
  const issue = ['issue', '--tenant', 'neighbour', '--environment', 'mainnet']
  const { result } = await runOperator<{ readonly api_key: string }>(issue, { DATABASE_URL }, 'keys')
  const headers = { authorization: `Bearer ${result.api_key}`, 'content-type': 'application/json' }
  const watched = { address: `0x${'12'.repeat(20)}`, network: 'ethereum', label: 'bench' }
  const { wallet_id } = accepted(await createClient(url, result.api_key).post('/v1/wallets/watch', watched))
  return { url: `${url}/v1/wallets/${wallet_id}`, headers }
}
