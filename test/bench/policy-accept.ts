/**
 * What a policy costs: acceptance over HTTP for a tenant with a policy, beside one that has none. In turn, so that what else the machine
 * does meets both. Then a test of the policy with limits on all that was accepted.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { newId } from '../../src/compose/new-id.ts'
import type { LimitedAsset, Policy } from '../../src/core/policy.ts'
import { SCOPES } from '../../src/declarations.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { policyAggregate } from '../../src/policies/aggregate.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'
import { untilQuiet } from './accept.ts'
import { type AcceptRound, acceptRound, transferPaths } from './cpu.ts'
import { cpuBetween, readCpuTimes } from './cpu-clock.ts'
import { benchPolicy } from './policies.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject } from './subject.ts'

const ROUNDS = 7
const REQUESTS = 1_200
const WARM_UP = 400
const CONNECTIONS = 64
const WALLETS = 8
const TENANT = 'policed'
const ENVIRONMENT = 'mainnet'

/** Rules and limits among them, and the aim: CPU in percent of that without a policy. */
const POLICIES = [
  { name: '0 rules', rules: 0, limits: 0, aim: 102 },
  { name: '20 rules', rules: 20, limits: 0, aim: 105 },
  { name: '20 rules, 3 of them limits', rules: 20, limits: 3, aim: 125 },
] as const

/** The version of the last of them: each is published once in the first round, in this order. */
const WITH_LIMITS = POLICIES.length
const BACKTESTS = 3
const AIM_EVENTS = 50_000
const DAY_MS = 86_400_000

type Tenant = { readonly headers: Record<string, string>; readonly paths: readonly string[] }

export async function benchPolicyAccept(subject: Subject): Promise<Figure[]> {
  const pool = new pg.Pool({ connectionString: subject.service.state().database_url, max: 2 })
  const wakeUps = createWakeUps(pool, subject.service.state().database_url)
  try {
    const log = createEventLog({ pool, wakeUps, clock: Date.now })
    const plain = { headers: authHeaders(subject), paths: transferPaths(await fundedWallets(subject, WALLETS)) }
    const policed = await makeTenant(subject, log)
    return [...(await compare(subject, log, { plain, policed })), await testOnThePast(subject, policed)]
  } finally {
    await wakeUps.close()
    await pool.end()
  }
}

async function makeTenant(subject: Subject, log: EventLog): Promise<Tenant> {
  const { environment } = await call<{ environment: typeof ENVIRONMENT }>(subject, 'GET', '/v1/me')
  if (environment !== ENVIRONMENT) throw new Error(`the sandbox has keys for ${environment}`)
  const key = { tenantId: TENANT, environment, scopes: SCOPES }
  const { token } = await createIssueApiKey({ log, newId })(key, { actor: 'operator' })
  const state = subject.service.state
  const own: Subject = { ...subject, service: { ...subject.service, state: () => ({ ...state(), api_key: token }) } }
  return { headers: authHeaders(own), paths: transferPaths(await fundedWallets(own, WALLETS)) }
}

async function compare(
  subject: Subject,
  log: EventLog,
  { plain, policed }: { readonly plain: Tenant; readonly policed: Tenant },
): Promise<Figure[]> {
  const ether = await etherOf(subject)
  const without: AcceptRound[] = []
  const rounds = new Map<string, AcceptRound[]>(POLICIES.map(({ name }) => [name, []]))
  for (const tenant of [plain, policed]) await acceptRound(subject, tenant, WARM_UP, CONNECTIONS)
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilQuiet(subject)
    without.push(await acceptRound(subject, plain, REQUESTS, CONNECTIONS))
    for (const [n] of POLICIES.entries()) {
      const { name, rules, limits } = POLICIES[(n + round) % POLICIES.length] ?? POLICIES[0]
      await publish(log, benchPolicy({ rules, limits, of: { asset_id: ether.assetId, amount: '100000000' } }, [ether]))
      await untilQuiet(subject)
      rounds.get(name)?.push(await acceptRound(subject, policed, REQUESTS, CONNECTIONS))
    }
  }
  await untilQuiet(subject)
  return POLICIES.map((policy) => figureOf(policy, rounds.get(policy.name) ?? [], without))
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
async function publish(log: EventLog, policy: Policy): Promise<void> {
  const stream = `${TENANT}-${ENVIRONMENT}`
  const context = { metadata: { tenantId: TENANT, actor: 'bench' } }
  const { state } = await log.load(policyAggregate, stream)
  const revision = state.status === 'unknown' ? 0 : state.draft.revision
  const by = { by: 'bench', now: log.now() }
  const drafted = { type: 'DraftPolicy', tenantId: TENANT, environment: ENVIRONMENT, revision, policy } as const
  await log.execute(policyAggregate, stream, { ...drafted, note: randomUUID(), ...by }, context)
  const how = { basis: 'counted', uncounted: [], locksOut: false, forced: null } as const
  const source = { revision: revision + 1 }
  await log.execute(
    policyAggregate,
    stream,
    { type: 'PublishPolicy', source, hash: policyHash(policy), ...how, ...by },
    context,
  )
}

/** Events of PostgreSQL, by the API: read, judged and counted. */
async function testOnThePast(subject: Subject, { headers }: Tenant): Promise<Figure> {
  const runs: { readonly cpuMs: number; readonly ms: number }[] = []
  let events = 0
  for (let run = 0; run < BACKTESTS; run += 1) {
    const before = readCpuTimes(subject.service)
    const startedAt = performance.now()
    const response = await fetch(`${subject.service.state().base_url}/v1/policies/backtest`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ version: WITH_LIMITS, from: new Date(Date.now() - DAY_MS).toISOString() }),
    })
    const ms = performance.now() - startedAt
    const answer = (await response.json()) as { readonly message?: string; readonly data?: { events_read: number } }
    if (answer.data === undefined) throw new Error(answer.message)
    events = answer.data.events_read
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
  { name, aim }: (typeof POLICIES)[number],
  having: readonly AcceptRound[],
  without: readonly AcceptRound[],
): Figure {
  const ratios = (of: (round: AcceptRound) => number) => having.map((round, n) => of(round) / of(without[n] ?? round))
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  const parts = (each: readonly AcceptRound[]) =>
    `API ${median(each.map(({ apiMs }) => apiMs)).toFixed(2)} ms, PostgreSQL ${median(each.map(({ postgresMs }) => postgresMs)).toFixed(2)} ms`
  return {
    bench: `accept, ${CONNECTIONS} at once, a policy of ${name}: CPU of the API and PostgreSQL`,
    unit: '% of that without a policy',
    ours: 100 * median(ratios(({ cpuMs }) => cpuMs)),
    ceiling: aim,
    ceilingIs: 'the aim',
    note: `median of ${ROUNDS} pairs; ${parts(having)}; without: ${parts(without)}; ${(100 * median(ratios(({ perSecond }) => perSecond))).toFixed(0)} % of its rate`,
  }
}
