/** The CPU of a decision by a policy of 20 rules, and of a test of a policy on the past, with what a request is judged as. */

import { useFastKeccak } from '../../src/chain/fast-keccak.ts'
import { JUDGED_KINDS } from '../../src/compose/capabilities.ts'
import type { LimitedAsset, Policy } from '../../src/core/policy.ts'
import { createBacktest } from '../../src/policies/backtest.ts'
import { checkRequests, type RecordedRequest } from '../../src/policies/check-requests.ts'
import { type CompiledPolicy, compilePolicy } from '../../src/policies/compile.ts'
import { decide } from '../../src/policies/decide.ts'
import { readPolicy } from '../../src/policies/read-policy.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { judgedTransaction } from '../../src/policies/transaction-intents.ts'
import { ALICE, ASSETS, BOB, ETH, factsOf, openingData, USDC } from '../support/policies.ts'
import type { Figure } from './report.ts'

const RULES = 20
const LISTED = 50
const DECISIONS = 200_000
const EVENTS = 200_000
const AIM_US = 5
const AIM_EVENTS = 50_000
const CHECKS = 10_240
/** Transactions of a lane that are signed together. */
const LANE = 256
const AIM_UNJUDGED_US = 2
const AIM_CHECK_US = 50
/** Between the requests of the past. */
const STEP_MS = 7_000
const FIRST_MS = Date.parse('2026-01-01T00:00:00.000Z')

export async function benchPolicies(): Promise<Figure[]> {
  useFastKeccak()
  const plain = policyOf(0)
  const limiting = policyOf(3)
  return [
    decisions(`decide a transfer by ${RULES} rules without limits`, plain),
    decisions(`decide a transfer by ${RULES} rules, 3 of them limits`, limiting),
    backtested(`test ${RULES} rules, 3 of them limits, on the past`, limiting),
    await checked('check a recorded transfer before it is signed, without a policy', null, AIM_UNJUDGED_US),
    await checked(`check one by ${RULES} rules, 3 of them limits`, limiting, AIM_CHECK_US),
  ]
}

function policyOf(limits: number): CompiledPolicy {
  return compilePolicy(benchPolicy({ rules: RULES, limits, of: { amount_usd: '900000000' } }), 1)
}

type Wanted = { readonly rules: number; readonly limits: number; readonly of: Partial<SentRule['limit'] & object> }

/** Rules about lists, methods, amounts and times that no transfer of the bench breaks, and limits with room. */
export function benchPolicy({ rules: count, limits, of }: Wanted, assets: readonly LimitedAsset[] = ASSETS): Policy {
  const listed = Array.from({ length: LISTED }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`)
  const rules = Array.from({ length: count }, (_, n): SentRule => {
    const id = `r${n}`
    if (n < limits) {
      const per = (['tenant', 'wallet', 'recipient'] as const)[n % 3] ?? 'tenant'
      return {
        id,
        effect: 'limit',
        match: { actions: ['transfer'] },
        limit: { ...of, window_seconds: 86_400, per },
      }
    }
    const match = [
      { actions: ['transfer', 'batch'] as const, recipients: { in: ['blocked'] } },
      {
        actions: ['contract_call'] as const,
        contracts: { not_in: ['blocked'] },
        methods: { in: ['transfer(address,uint256)'] },
      },
      { assets: { in: [USDC.assetId] }, amount: { asset_id: USDC.assetId, gte: '100000' } },
      { wallet_tags: { in: ['hot'] }, amount_usd: { gte: '1000000' } },
      {
        actions: ['transfer'] as const,
        time: { zone: 'Europe/Zurich', days: ['sun'] as const, from: '03:00', to: '03:01' },
      },
    ][n % 5]
    return { id, effect: 'deny', ...(match === undefined ? {} : { match }) }
  })
  const known = [...assets, ...ASSETS]
  const assetOf = (assetId: string) => known.find((asset) => asset.assetId === assetId) ?? null
  return readPolicy({ default: 'allow', lists: { blocked: listed }, rules }, assetOf)
}

function decisions(bench: string, policy: CompiledPolicy): Figure {
  const request = judgedTransaction(JUDGED_KINDS, { type: 'TransferRequested', data: openingData() }, factsOf())
  const ms = cpuMs(() => {
    for (let n = 0; n < DECISIONS; n += 1)
      if (decide(policy, request).outcome !== 'allowed') throw new Error('a rule refused it')
  })
  return { bench, unit: 'µs CPU', ours: (ms * 1_000) / DECISIONS, ceiling: AIM_US, ceilingIs: 'the aim' }
}

/** What a signer does in addition to a lane of requests, without its queries. */
async function checked(bench: string, policy: CompiledPolicy | null, aim: number): Promise<Figure> {
  const active = policy && { version: policy.version, streamVersion: 1, hashBefore: '' }
  const none = async () => []
  const ctx: Parameters<typeof checkRequests>[0] = {
    policies: {
      inForceAt: async (all) => all.map(() => ({ active, shadow: null })),
      async rulesOf() {
        if (policy === null) throw new Error('no policy is in force')
        return policy
      },
    },
    facts: {
      tagsOf: async () => TAGGED,
      tokenOf: none,
      isOwn: none,
      isCollection: none,
      isOwnSpender: () => false,
    },
    ...{ counted: null, times: null },
  }
  const data = openingData()
  const { actor, tags, priceOf } = factsOf()
  const prices = [ETH, USDC].map(({ assetId }) => ({ assetId, ...(priceOf(assetId) ?? { usd: '0', at: '' }) }))
  const judge: RecordedRequest['judge'] = (facts) =>
    judgedTransaction(JUDGED_KINDS, { type: 'TransferRequested', data }, facts)
  const reservations = policy === null ? [] : decide(policy, judge(factsOf())).reservations
  const part = policy && { policy: { version: policy.version, tags, prices } }
  const requests = Array.from(
    { length: LANE },
    (_, n): RecordedRequest => ({ ...data, id: `tx_${n}`, position: 5n, actor, reservations, judge, ...part }),
  )
  const run = async () => {
    for (let n = 0; n < CHECKS; n += LANE) {
      const [problem] = (await checkRequests(ctx, requests)).values()
      if (problem !== undefined) throw new Error(problem)
    }
  }
  await run()
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return { bench, unit: 'µs CPU', ours: (user + system) / CHECKS, ceiling: aim, ceilingIs: 'the aim' }
}

const TAGGED = [{ position: 1n, at: '', value: factsOf().tags }]

function backtested(bench: string, policy: CompiledPolicy): Figure {
  const events = Array.from({ length: EVENTS }, (_, n) => {
    const requestedAt = new Date(FIRST_MS + n * STEP_MS).toISOString()
    const [to, asset] = [n % 2 === 0 ? ALICE : BOB, n % 3 === 0 ? ETH : USDC]
    return openingData({ requestedAt, to, asset, amount: 1_000_000n })
  })
  const ms = cpuMs(() => {
    const backtest = createBacktest(policy)
    for (const [n, data] of events.entries())
      backtest.request(
        `tx_${n}`,
        judgedTransaction(JUDGED_KINDS, { type: 'TransferRequested', data }, factsOf({}, data.requestedAt)),
      )
    const { allowed } = backtest.result().totals
    if (allowed.requests === 0) throw new Error('the policy allows nothing')
  })
  const perSecond = (EVENTS * 1_000) / ms
  const note = `${((ms * 1_000) / EVENTS).toFixed(1)} µs CPU an event`
  return { bench, unit: 'events/s of CPU', ours: perSecond, ceiling: AIM_EVENTS, ceilingIs: 'the aim, at least', note }
}

/** The lowest of three runs, after one to warm up. */
function cpuMs(run: () => void): number {
  run()
  const runs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return Math.min(...runs)
}
