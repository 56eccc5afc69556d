/** Every capability, and what the processes iterate over. A new capability is one line here and one in `declarations.ts`. */

import { access } from '../access/capability.ts'
import { activity } from '../activity/capability.ts'
import { assets } from '../assets/capability.ts'
import { audit } from '../audit/capability.ts'
import { balances } from '../balances/capability.ts'
import type { Capability, Covers, Gauge, SeedNeeds, SigningNeeds } from '../capability.ts'
import type { Context } from '../context.ts'
import { contractCalls } from '../contract-calls/capability.ts'
import { merged } from '../core/map-values.ts'
import type { Opening, TransactionType } from '../core/registry.ts'
import { mpcQueue, READ_MODELS, TRANSACTION_TYPES } from '../declarations.ts'
import { knownEvents, type LogContents } from '../event-log/fold.ts'
import { openFor, readOpenTransactions } from '../event-log/open-transactions.ts'
import { follower } from '../follower/capability.ts'
import type { Jobs, JobWorker } from '../jobs/jobs.ts'
import { mpcKeys } from '../mpc-wallets/capability.ts'
import { nft } from '../nft/capability.ts'
import { policies } from '../policies/capability.ts'
import type { KnownChain } from '../policies/facts.ts'
import type { PastSource } from '../policies/past.ts'
import type { JudgedKinds } from '../policies/transaction-intents.ts'
import type { UsageCounts } from '../quotas/count-usage.ts'
import { recovery } from '../recovery/capability.ts'
import { requests } from '../requests/capability.ts'
import { restores } from '../restores/capability.ts'
import { signatures } from '../signatures/capability.ts'
import { swaps } from '../swaps/capability.ts'
import { transactions } from '../transactions/capability.ts'
import type { KindRules, RulesOfKinds } from '../transactions/kind-rules.ts'
import { nameParts } from '../transactions/parts.ts'
import { wallets } from '../wallets/capability.ts'
import type { KeyKind } from '../wallets/key-kinds.ts'
import { webhooks } from '../webhooks/capability.ts'
import type { Kernel } from './kernel.ts'

/** By name, in the order in which a round of the sweeper looks for their work, and the API document lists their routes. */
export const CAPABILITIES_BY_NAME = {
  wallets,
  mpcKeys,
  nft,
  signatures,
  recovery,
  balances,
  activity,
  assets,
  swaps,
  contractCalls,
  transactions,
  follower,
  restores,
  requests,
  access,
  policies,
  audit,
  webhooks,
} satisfies Readonly<Record<string, Capability>>
export type CapabilityName = keyof typeof CAPABILITIES_BY_NAME

export const CAPABILITIES: readonly Capability[] = Object.values(CAPABILITIES_BY_NAME)

/** Every aggregate whose streams the log contains: a replay of the log needs them all. */
export const ALL_AGGREGATES = CAPABILITIES.flatMap(({ aggregates = [] }) => aggregates)

export const LOG_CONTENTS: LogContents = {
  aggregates: ALL_AGGREGATES,
  readModels: READ_MODELS,
  afterImport: CAPABILITIES.flatMap(({ afterImport = [] }) => afterImport),
}

/** The event types that this version of Bursar reads. */
export const KNOWN_EVENTS = knownEvents(ALL_AGGREGATES)

/** The resources that `explain` reports, beside transactions. */
export const EXPLAINED = CAPABILITIES.flatMap(({ explains = [] }) => explains)

/** Work that follows from events. That of lanes is in `dispatcher.ts`. */
export const WORK = CAPABILITIES.flatMap(({ work = [] }) => work)

/** What dispatchers repeat, beside the work of lanes. */
export const TASKS = CAPABILITIES.flatMap(({ tasks = [] }) => tasks)

/** What capabilities say of their kinds of transactions. Two openings of one type would have the rules of one of them. */
export const KINDS: RulesOfKinds = new Map(
  Object.entries(
    merged(
      Object.entries(ofEachOpening(CAPABILITIES.map(({ kinds }) => kinds))).map(([opening, rules]) => ({
        [TRANSACTION_TYPES[opening as Opening]]: rules,
      })),
    ),
  ) as [TransactionType, KindRules][],
)

/** What goes to private relays, in the words of its capability; null where nothing does. */
export const RELAYED = [...KINDS.values()].find(({ relays }) => relays)?.relays ?? null

nameParts(merged(CAPABILITIES.map(({ parts }) => parts)))

/** What transactions can do, for policies, by their opening event. */
export const JUDGED_KINDS: JudgedKinds = ofEachOpening(CAPABILITIES.map(({ judges }) => judges))

/** Kinds of keys. A wallet with another kind is unfit, and nothing signs for it. */
export const KEY_KINDS: Readonly<Record<string, KeyKind>> = merged(CAPABILITIES.map(({ keyKinds }) => keyKinds))

/** What the log must have of what parties sign, beside transactions, by its kind. */
export const COVERS: Readonly<Record<string, Covers>> = merged(CAPABILITIES.map(({ covers }) => covers))

/** Contracts of the settings of a chain that transactions may let take what they sell. */
export function spendersOf(chain: KnownChain): readonly string[] {
  return CAPABILITIES.flatMap(({ spenders }) => spenders?.(chain) ?? [])
}

/** What events say of the past, for policies. */
export const PAST: PastSource = {
  kinds: JUDGED_KINDS,
  standing: merged(CAPABILITIES.map(({ past }) => past?.standing)),
  passing: merged(CAPABILITIES.map(({ past }) => past?.passing)),
  schemas: new Map(ALL_AGGREGATES.map(({ category, schemas }) => [category, schemas])),
  spendersOf,
}

/** @throws Error for an opening that a declaration has and no capability speaks of */
function ofEachOpening<T>(
  parts: readonly (Readonly<Record<string, T | undefined>> | undefined)[],
): Readonly<Record<string, T>> {
  const all = merged(parts)
  const missing = Object.keys(TRANSACTION_TYPES).filter((opening) => !Object.hasOwn(all, opening))
  if (missing.length > 0) throw new Error(`a capability opens transactions and has no rules: ${missing.join(', ')}`)
  return all
}

/** What counts towards a quota. */
export const usageCounts: UsageCounts = (quota) => CAPABILITIES.flatMap(({ usage }) => usage?.[quota] ?? [])

const HANDLED = CAPABILITIES.flatMap(({ jobs = [] }) => jobs)

/** Adds the gauges of capabilities that a process serves. */
export function addGauges({ metrics, pool, clock }: Kernel, process: Gauge['process']): void {
  for (const gauge of CAPABILITIES.flatMap(({ gauges = [] }) => gauges))
    if (gauge.process === process)
      metrics.addGauge(gauge.name, gauge.help, gauge.labels, () => gauge.read({ pool, clock }))
}

/** Adds the gauges of what no capability owns: jobs by state, and open transactions of the database. */
export function addKernelGauges({ metrics, jobs, pool }: Kernel): void {
  metrics.addGauge('bursar_jobs', 'Jobs by queue and state.', ['queue', 'state'], async () => {
    const counts = await jobs.counts()
    return Object.entries(counts).flatMap(([queue, states]) =>
      Object.entries(states).map(([state, value]) => ({ labels: { queue, state }, value })),
    )
  })
  metrics.addGauge(
    'bursar_oldest_open_transaction_seconds',
    'Age in seconds of the oldest open database transaction that delays readers of the event log. It can be in any database of the server. 0 if there is none.',
    [],
    async () => {
      const [oldest] = openFor(await readOpenTransactions(pool), 0)
      return [{ labels: {}, value: (oldest?.openMs ?? 0) / 1_000 }]
    },
  )
}

/** Does the jobs of capabilities that run in signers. */
export function handleSigning(
  jobs: Pick<Jobs, 'process'>,
  needs: SigningNeeds,
  ofSeeds: SeedNeeds,
): readonly JobWorker[] {
  return HANDLED.flatMap((handling) => {
    if (handling.process !== 'signer') return []
    if (handling.seesSeeds)
      return [jobs.process(handling.queue, handling.handle(ofSeeds), { concurrency: handling.concurrency })]
    const { queue, concurrency, mpcConcurrency } = handling
    const handler = handling.handle(needs)
    const own = jobs.process(queue, handler, { concurrency })
    const mpc = mpcQueue(queue)
    return mpc === queue ? [own] : [own, jobs.process(mpc, handler, { concurrency: mpcConcurrency ?? concurrency })]
  })
}

/** Does the jobs of capabilities that run in submitters. */
export function handleSending(jobs: Pick<Jobs, 'process'>, needs: Pick<Context, 'pool' | 'log'>): readonly JobWorker[] {
  return HANDLED.flatMap((handling) =>
    handling.process === 'submitter'
      ? [jobs.process(handling.queue, handling.handle(needs), { concurrency: handling.concurrency })]
      : [],
  )
}
