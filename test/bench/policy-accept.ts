/**
 * What a policy costs: acceptance over HTTP for tenants with a policy, beside one that has none. In turn, so that what else the machine
 * does meets all. Then a test of the policy with limits on all that was accepted for its tenant.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { newId } from '../../src/compose/new-id.ts'
import type { LimitedAsset, Policy } from '../../src/core/policy.ts'
import { CATALOGUE, SCOPES } from '../../src/declarations.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { policyAggregate } from '../../src/policies/aggregate.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'
import { accepted, type Client, createClient } from '../support/client.ts'
import { untilQuiet } from './accept.ts'
import { type AcceptRound, acceptRound, transferPaths } from './cpu.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { benchPolicy } from './policies.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject } from './subject.ts'

/** Each of the five is measured at each place of a round as often. */
const ROUNDS = 10
/** CPU time is counted in hundredths of a second: a round takes more than a hundred of them. */
const REQUESTS = 4_800
const WARM_UP = 2_400
const CONNECTIONS = 64
const WALLETS = 8
const ENVIRONMENT = 'mainnet'

/** Rules and limits among them, and the aim: CPU in percent of that without a policy. Each is the policy of its own tenant. */
const POLICIES = [
  { tenantId: 'rules-0', name: '0 rules', rules: 0, limits: 0, aim: 102 },
  { tenantId: 'rules-20', name: '20 rules', rules: 20, limits: 0, aim: 105 },
  { tenantId: 'limits-3', name: '20 rules, 3 of them limits', rules: 20, limits: 3, aim: 125 },
] as const
const BACKTESTS = 3
const AIM_EVENTS = 50_000
const DAY_MS = 86_400_000

type Tenant = {
  readonly api: Client
  readonly headers: Record<string, string>
  readonly paths: readonly string[]
}

export async function benchPolicyAccept(subject: Subject): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 2 })
  const wakeUps = createWakeUps(pool, subject.service.state().database_url)
  try {
    // What is vacuumed meanwhile would be counted for whoever is measured then.
    await pool.query('ALTER SYSTEM SET autovacuum = off')
    await pool.query('SELECT pg_reload_conf()')
    const log = createEventLog({ pool, wakeUps, clock: Date.now })
    const free = [await makeTenant(subject, log, 'free-1'), await makeTenant(subject, log, 'free-2')]
    const ether = await etherOf(subject)
    const policed: Tenant[] = []
    for (const { tenantId, rules, limits } of POLICIES) {
      policed.push(await makeTenant(subject, log, tenantId))
      const limit = { asset_id: ether.assetId, amount: '100000000' }
      await publish(log, tenantId, benchPolicy({ rules, limits, of: limit }, [ether]))
    }
    const settle = async () => {
      await untilQuiet(subject)
      await pool.query('CHECKPOINT')
    }
    const figures = await compare(subject, { free, policed, settle })
    const [last] = policed.slice(-1)
    return last === undefined ? figures : [...figures, await testOnThePast(subject, last)]
  } finally {
    await wakeUps.close()
    await pool.end()
  }
}

async function makeTenant(subject: Subject, log: EventLog, tenantId: string): Promise<Tenant> {
  const { environment } = await call<{ environment: typeof ENVIRONMENT }>(subject, 'GET', '/v1/me')
  if (environment !== ENVIRONMENT) throw new Error(`the sandbox has keys for ${environment}`)
  const key = { tenantId, environment, scopes: SCOPES }
  const { token } = await createIssueApiKey({ log, newId, catalogue: CATALOGUE })(key, { actor: 'operator' })
  const { service } = subject
  const api = createClient(service.state().base_url, token)
  const state = () => ({ ...service.state(), api_key: token })
  const own: Subject = { ...subject, service: { ...service, api, state } }
  return { api, headers: authHeaders(own), paths: transferPaths(await fundedWallets(own, WALLETS)) }
}

type Compared = {
  /** Two without a policy: what their rounds differ by is the error of the measure. */
  readonly free: readonly Tenant[]
  /** In the order of the policies. */
  readonly policed: readonly Tenant[]
  /** Waits until nothing of the round before is left to do. */
  readonly settle: () => Promise<void>
}

async function compare(subject: Subject, { free, policed, settle }: Compared): Promise<Figure[]> {
  const tenants = [...free, ...policed]
  const rounds = tenants.map((): AcceptRound[] => [])
  for (const tenant of tenants) await acceptRound(subject, tenant, WARM_UP, CONNECTIONS)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const n of tenants.keys()) {
      const place = (n + round) % tenants.length
      const tenant = tenants[place]
      if (tenant === undefined) continue
      await settle()
      rounds[place]?.push(await acceptRound(subject, tenant, REQUESTS, CONNECTIONS))
    }
  await settle()
  const [one = [], other = [], ...having] = rounds
  const without = one.map((round, n) => meanOf(round, other[n] ?? round))
  const control = figureOf({ name: 'none, beside the mean of two of none', aim: 100 }, one, without)
  return [control, ...POLICIES.map((policy, n) => figureOf(policy, having[n] ?? [], without))]
}

function meanOf(one: AcceptRound, other: AcceptRound): AcceptRound {
  const mean = (of: (round: AcceptRound) => number) => (of(one) + of(other)) / 2
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    cpuMs: mean(({ cpuMs }) => cpuMs),
    apiMs: mean(({ apiMs }) => apiMs),
    postgresMs: mean(({ postgresMs }) => postgresMs),
  }
}

async function etherOf(subject: Subject): Promise<LimitedAsset> {
  const { assets } = await call<{ assets: readonly { symbol: string; asset_id: string; network: string }[] }>(
    subject,
    'GET',
    '/v1/assets',
  )
  const assetId = assets.find(({ symbol, network }) => symbol === 'ETH' && network === 'ethereum')?.asset_id ?? ''
  return { assetId, symbol: 'ETH', decimals: 18 }
}

/** By the log: a publication over HTTP waits until what was spent before is added up, which is not measured here. */
async function publish(log: EventLog, tenantId: string, policy: Policy): Promise<void> {
  const stream = `${tenantId}-${ENVIRONMENT}`
  const context = { metadata: { tenantId, actor: 'bench' } }
  const by = { by: 'bench', now: log.now() }
  const drafted = { type: 'DraftPolicy', tenantId, environment: ENVIRONMENT, revision: 0, policy } as const
  await log.execute(policyAggregate, stream, { ...drafted, note: randomUUID(), ...by }, context)
  const how = { basis: 'counted', uncounted: [], locksOut: false, forced: null } as const
  const source = { revision: 1 }
  await log.execute(
    policyAggregate,
    stream,
    { type: 'PublishPolicy', source, hash: policyHash(policy), ...how, ...by },
    context,
  )
}

/** Events of PostgreSQL, by the API: read, judged and counted. */
async function testOnThePast(subject: Subject, { api }: Tenant): Promise<Figure> {
  const runs: { readonly cpuMs: number; readonly ms: number }[] = []
  let events = 0
  for (let run = 0; run < BACKTESTS; run += 1) {
    const before = readCpuTimes(subject.service)
    const startedAt = performance.now()
    const period = { version: 1, from: new Date(Date.now() - DAY_MS).toISOString() }
    const reply = await api.post('/v1/policies/backtest', period)
    const ms = performance.now() - startedAt
    events = accepted(reply).events_read
    const used = cpuBetween(before, readCpuTimes(subject.service))
    runs.push({ cpuMs: (used.get('api') ?? 0) + (used.get('postgres') ?? 0), ms })
  }
  const best = runs.reduce((one, other) => (other.cpuMs < one.cpuMs ? other : one))
  return {
    bench: `test ${events} events of the log by a policy of 20 rules, 3 of them limits`,
    unit: 'events/s of CPU of the API and PostgreSQL',
    ours: (events * 1_000) / best.cpuMs,
    ceiling: AIM_EVENTS,
    ceilingIs: 'the aim, at least',
    note: `the best of ${BACKTESTS}; ${((events * 1_000) / best.ms).toFixed(0)} events/s of time`,
  }
}

function figureOf(
  { name, aim }: { readonly name: string; readonly aim: number },
  having: readonly AcceptRound[],
  without: readonly AcceptRound[],
): Figure {
  const ratios = (of: (round: AcceptRound) => number) => having.map((round, n) => of(round) / of(without[n] ?? round))
  const median = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b)
    const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1)
    return middle.reduce((sum, value) => sum + value, 0) / middle.length
  }
  const parts = (each: readonly AcceptRound[]) =>
    `API ${median(each.map(({ apiMs }) => apiMs)).toFixed(2)} ms, PostgreSQL ${median(each.map(({ postgresMs }) => postgresMs)).toFixed(2)} ms`
  return {
    bench: `accept, ${CONNECTIONS} at once, a policy of ${name}: CPU of the API and PostgreSQL`,
    unit: '% of that without a policy',
    ours: 100 * median(ratios(({ cpuMs }) => cpuMs)),
    ceiling: aim,
    ceilingIs: 'the aim',
    note: `median of ${ROUNDS} rounds; ${parts(having)}; without: ${parts(without)}; ${(100 * median(ratios(({ perSecond }) => perSecond))).toFixed(0)} % of its rate`,
  }
}
