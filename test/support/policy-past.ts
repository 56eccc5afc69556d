/** A tenant with a past: wallets, tokens and prices in the log, transfers by then, and versions of a policy. No keys, no nodes. */
import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { JUDGED_KINDS, PAST } from '../../src/compose/capabilities.ts'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import type { Policy } from '../../src/core/policy.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { policyAggregate } from '../../src/policies/aggregate.ts'
import type { CompiledPolicy } from '../../src/policies/compile.ts'
import { decide } from '../../src/policies/decide.ts'
import { readInForce } from '../../src/policies/policies-in-force.ts'
import { readPolicy } from '../../src/policies/read-policy.ts'
import { seedCounters } from '../../src/policies/seed-counters.ts'
import type { SentPolicy, SentRule } from '../../src/policies/sent-policy.ts'
import { judgedTransaction } from '../../src/policies/transaction-intents.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import type { AssetRef, Intent } from '../../src/transactions/intent.ts'
import { walletAggregate } from '../../src/wallets/aggregate.ts'
import type { WalletCreated, WalletRequested } from '../../src/wallets/events.ts'
import { NATIVE, newTransactionId, seedWallet, TEST_CHAIN, type TestLog, transferIntent, withLog } from './log.ts'
import { factsOf } from './policies.ts'
import { seeBlock } from './spending.ts'

export const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
export const ACTOR = 'apikey:key_1'
export const METADATA = { tenantId: OWNER.tenantId, actor: ACTOR }
const TOKEN: AssetRef = {
  assetId: `eip155:${TEST_CHAIN}/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48`,
  symbol: 'USDC',
  decimals: 6,
  contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
}
const CHAINS = [{ chainId: TEST_CHAIN, tokens: [{ symbol: 'USDC', address: TOKEN.contract ?? '', decimals: 6 }] }]

/** The default allows. */
export function policyOf(rules: readonly SentRule[], more: Partial<SentPolicy> = {}): Policy {
  const assetOf = (assetId: string) => [NATIVE, TOKEN].find((asset) => asset.assetId === assetId) ?? null
  return readPolicy({ default: 'allow', ...more, rules }, assetOf)
}

/** What judges a request, as the process that sends it knows. */
export type Judgement = { readonly active?: CompiledPolicy | null; readonly shadow?: CompiledPolicy | null }

export async function withPast(t: Test) {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 10n ** 36n })
  await seeBlock(test.pool, new Date(Date.now() + 86_400_000).toISOString())
  return pastOf(test)
}

export function pastOf<Test extends Pick<TestLog, 'pool' | 'log'>>(test: Test) {
  const { pool, log } = test
  const change = (id: string, command: TransactionCommand) =>
    log.execute(transactionAggregate, id, command, { metadata: METADATA })
  const policy = (command: Parameters<typeof policyAggregate.decide>[0]) =>
    log.execute(policyAggregate, `${OWNER.tenantId}-${OWNER.environment}`, command, { metadata: METADATA })
  const by = () => ({ by: 'key_1', now: log.now() })
  let revision = 0
  return {
    ...test,
    ports: { pool, source: PAST, chains: CHAINS },
    seed: (signal: AbortSignal) => seedCounters({ pool, log, source: PAST, chains: CHAINS }, signal),
    seedWith: (mostSums: number) => (signal: AbortSignal) =>
      seedCounters({ pool, log, source: PAST, chains: CHAINS, mostSums }, signal),
    change,
    /** A transfer of the native currency, and what the versions in force reserve of it. */
    async transfer(parts: Partial<Intent> = {}, judgement: Judgement = {}) {
      const id = newTransactionId()
      const data = transferIntent({ requestedAt: new Date().toISOString(), ...parts })
      const intent = { ...data, ...judgedBy(judgement, data) }
      const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
      await log.append({
        decisions: [decideNew(transactionAggregate, id, command, { metadata: METADATA, now: data.requestedAt })],
      })
      return id
    },
    async wallet(walletId: string, address: string) {
      const request: WalletRequested['data'] = {
        ...{ type: 'hd', label: walletId, externalId: null, mpc: null, requestedAt: log.now() },
        ...{ network: 'ethereum', chainId: TEST_CHAIN, environment: OWNER.environment },
      }
      await log.execute(walletAggregate, walletId, { type: 'RequestWallet', request }, { metadata: METADATA })
      const created: WalletCreated['data'] = {
        ...{ address, key: { kind: 'hd', tenantId: OWNER.tenantId, index: 0 }, derivationPath: "m/44'/60'/0'/0/0" },
        ...{ createdAt: log.now(), publicKey: null, threshold: null, parties: null },
      }
      await log.execute(walletAggregate, walletId, { type: 'RecordKey', created }, { metadata: METADATA })
    },
    /** What is in force now. */
    inForce: () => readInForce(pool, OWNER),
    /** A new draft, as a shadow. @returns its version */
    async shadow(rules: Policy): Promise<number> {
      await policy({ type: 'DraftPolicy', ...OWNER, revision, policy: rules, note: null, ...by() })
      revision += 1
      const state = await policy({ type: 'ShadowPolicy', revision, hash: hashOf(rules), isSeeded: false, ...by() })
      return state.status === 'known' ? (state.shadow?.version ?? 0) : 0
    },
    publish(version: number, rules: Policy) {
      const counted = { basis: 'seeded', uncounted: [], locksOut: false, forced: null } as const
      return policy({ type: 'PublishPolicy', source: { version }, hash: hashOf(rules), ...counted, ...by() })
    },
    endShadow: (version: number) => policy({ type: 'EndShadow', version, ...by() }),
    isSeeded: async () => (await pool.query('SELECT shadow_seeded FROM policies')).rows[0]?.shadow_seeded as boolean,
    /** By counter: what its buckets have. */
    async spent(): Promise<Readonly<Record<string, string>>> {
      const { rows } = await pool.query<{ counter: string; spent: string }>(
        'SELECT counter, sum(spent)::text AS spent FROM spend_buckets GROUP BY counter ORDER BY counter',
      )
      return Object.fromEntries(rows.map((row) => [row.counter, row.spent]))
    },
  }
}

function judgedBy({ active = null, shadow = null }: Judgement, data: Intent): Pick<Intent, 'policy' | 'reservations'> {
  if (active === null && shadow === null) return {}
  const facts = factsOf({ tags: [], actor: ACTOR }, data.requestedAt)
  const judged = judgedTransaction(JUDGED_KINDS, { type: 'TransferRequested', data }, facts)
  const binding = active === null ? [] : decide(active, judged).reservations
  const counters = new Set(binding.map(({ counter }) => counter))
  const reported =
    shadow === null ? [] : decide(shadow, judged).reservations.filter(({ counter }) => !counters.has(counter))
  return {
    policy: { version: active?.version ?? 0, ...(shadow && { shadow: shadow.version }), tags: [], prices: [] },
    reservations: [...binding, ...reported.map((one) => ({ ...one, mustFit: false as const }))],
  }
}

function hashOf(policy: Policy): string {
  return createHash('sha256').update(canonicalJson(policy)).digest('hex')
}
