/** Facts of a healthy service, of which a test changes those that should be stuck. */

import { judgeAuditors } from '../../src/audit/for-operators.ts'
import { PROCESS_LIST } from '../../src/core/processes.ts'
import type { DatabaseFacts } from '../../src/event-log/database-facts.ts'
import { metadataFacts, findings as ofNfts } from '../../src/nft/for-operators.ts'
import type { ChainNow } from '../../src/operator/chain-now.ts'
import type { Finding } from '../../src/operator/finding.ts'
import type { LaneNow } from '../../src/operator/lanes/lane-now.ts'
import { limitsOf } from '../../src/operator/limits.ts'
import { judge } from '../../src/operator/stuck/judge.ts'
import type { Facts } from '../../src/operator/stuck/read-facts.ts'
import type { ServiceFacts } from '../../src/operator/stuck/service-facts.ts'
import { judgeSubmitters } from '../../src/swaps/for-operators.ts'
import { findings, webhookFacts } from '../../src/webhooks/for-operators.ts'
import type { WebhooksNow } from '../../src/webhooks/webhooks-now.ts'
import { fold, requested, signed } from './recorded-transactions.ts'

export const GWEI = 1_000_000_000n
export const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
export const HEAD_ID = 'tx_01a20051-578f-72f3-8aa6-e88168c39fb1'
const NEXT_ID = 'tx_01a20051-578f-72f3-8aa6-e88168c39fb2'

/** Production's defaults: work counts as late after 30 s, a block after 4 min. */
const LIMITS = limitsOf({
  sweepIntervalMs: 10_000,
  rebroadcastAfterMs: 30_000,
  replaceAfterMs: 120_000,
  leaseMs: 10_000,
  maxInFlightPerLane: 64,
})

export const CHAIN: ChainNow = {
  name: 'ethereum',
  settings: {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1,
    confirmations: 32,
    maxFeePerGasWei: 500n * GWEI,
    minTipWei: GWEI,
  },
  capSetting: 'ETHEREUM_MAX_FEE_PER_GAS_WEI',
  urlsSetting: 'ETHEREUM_RPC_URLS',
  relayed: null,
  node: { up: true, head: 1_000, baseFeePerGas: GWEI },
}

/** The processes that must be running in an installation without webhooks, by name. */
export function neededProcesses(parties: readonly number[]): readonly string[] {
  return PROCESS_LIST.filter(({ needed }) => needed !== 'for its capability').flatMap(({ kind, numbered }) =>
    numbered ? parties.map((number) => `${kind}-${number}`) : [kind],
  )
}

export const SERVICE: ServiceFacts = {
  processes: neededProcesses([1, 2]).map((process) => ({
    process,
    instance: `${process}:7`,
    silentMs: 1_000,
    problem: null,
  })),
  leaders: ['dispatcher', 'sweeper', 'follow-1'].map((name) => ({ name, holder: 'x@h:7', expiresInMs: 5_000 })),
  subscriptions: [{ name: 'dispatcher', lagMs: 100 }],
  openTransactions: { transactions: [], waitingMs: 5 },
  cursors: [{ chainId: 1, number: 1_000, head: 1_000, silentMs: 500 }],
  stalls: [],
  bannedKeys: [],
  unreadTokens: [],
  accusedKeys: [],
  waiting: [{ name: 'wallets', ids: [] }],
  unsettled: [],
}

/** Every setting is durable, and processes use the database. */
export const DATABASE: DatabaseFacts = { user: 'bursar', owns: false, refusal: null, weak: [] }
/** What is told of metadata. */
export const toldOfMetadata = (unpinned: Parameters<typeof metadataFacts>[0]) => ({
  place: ofNfts[0]?.place ?? 0,
  ...metadataFacts(unpinned),
})
/** What is told of webhooks. */
export function told(now: WebhooksNow) {
  return { place: findings[0]?.place ?? 0, ...webhookFacts(now) }
}
const HEALTHY: Facts = {
  chains: [CHAIN],
  database: DATABASE,
  service: SERVICE,
  told: [
    told({ subscription: 'webhooks', lagMs: 0, webhooks: [], replays: [] }),
    { place: 30, judge: judgeAuditors },
    { place: 40, judge: judgeSubmitters },
  ],
  unsound: [],
  lanes: [],
  failedJobs: [],
}
export const CONTEXT = {
  limits: LIMITS,
  parties: [1, 2],
  nowMs: Date.parse('2026-11-21T13:00:00Z'),
  queueBackend: 'Redis',
}

/** A lane that has just submitted one transaction, which offers at most 20 gwei. */
export const LANE: LaneNow = {
  lane: { chainId: 1, address: ADDRESS },
  wallet: { id: 'wal_1', label: 'first', type: 'hd', tenantId: 'acme' },
  counts: { waiting: 0, dependent: 0, unsent: 0, submitted: 1, awaitingFunds: 0, wishes: 0 },
  ids: { ready: null, unsent: null, head: HEAD_ID, wish: null },
  ages: { waiting: null, ready: null, unsent: null, head: 2_000, wish: null },
  highestNonce: signed.data.nonce,
  headNonce: signed.data.nonce,
  signLease: null,
  submitLease: null,
  head: head(),
  chainNonce: signed.data.nonce,
  nativeBalance: null,
  gaps: [],
  spare: null,
  wish: null,
  gas: { head: null, empty: 21_000n },
  held: null,
}

/** The head of the lane, folded from its events. */
export function head(...more: Parameters<typeof fold>[0]): NonNullable<LaneNow['head']> {
  const submitted = {
    type: 'TransactionSubmitted',
    data: { hash: signed.data.hash, submittedAt: signed.data.signedAt },
  } as const
  const transaction = fold([requested, signed, submitted, ...more])
  if (transaction.state === 'unknown') throw new Error('it was requested')
  return { id: HEAD_ID, transaction }
}

export function stuck(facts: Partial<Facts>): Finding[] {
  return judge({ ...HEALTHY, ...facts }, CONTEXT)
}
export const service = (facts: Partial<ServiceFacts>) => stuck({ service: { ...SERVICE, ...facts } })
export const lane = (facts: Partial<LaneNow>, chain = CHAIN) =>
  stuck({ chains: [chain], lanes: [{ ...LANE, ...facts }] })
export const waits = (counts: Partial<LaneNow['counts']>) => ({ ...LANE.counts, ...counts })
export const ages = (changed: Partial<LaneNow['ages']>) => ({ ...LANE.ages, ...changed })
export const ids = (changed: Partial<LaneNow['ids']>) => ({ ...LANE.ids, ...changed })
export const asks = (baseFeePerGas: bigint) => ({ ...CHAIN, node: { up: true, head: 1_000, baseFeePerGas } as const })
export const without = (name: string) => SERVICE.processes.filter(({ process }) => process !== name)
export const UNSENT = {
  counts: waits({ unsent: 2 }),
  ids: ids({ unsent: NEXT_ID }),
  ages: ages({ unsent: 31_000 }),
}
export const unsigned = {
  counts: waits({ waiting: 3, dependent: 1 }),
  ids: ids({ ready: NEXT_ID }),
  ages: ages({ ready: 31_000 }),
}
export const lease = (expiresInMs: number, name = 'sign-7') => ({ name, holder: 'signer@h:9', expiresInMs, fence: '4' })
export const down = { down: 'connect ECONNREFUSED 127.0.0.1:5432' }
