/** API processes with one database, without their HTTP and nodes: what they accept, judge and append is theirs. */
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { type ComposedApi, createApiContext } from '../../src/compose/api-context.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { nativeAsset } from '../../src/core/assets.ts'
import type { Metadata } from '../../src/core/messages.ts'
import type { Policy } from '../../src/core/policy.ts'
import { type Decision, mustDecideOn } from '../../src/event-log/aggregate.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { policyAggregate } from '../../src/policies/aggregate.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'
import type { SentPolicy } from '../../src/policies/sent-policy.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { openTransaction } from '../../src/transactions/prepare-transaction.ts'
import { type TestLog, transferIntent, withLog } from './log.ts'
import { ETH, readSent } from './policies.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const STREAM = 'acme-mainnet'
const CHAIN = 1
const NATIVE = nativeAsset('ethereum', CHAIN)
const METADATA = { tenantId: 'acme', actor: 'apikey:key_1' }
const SETTINGS = { LOG_LEVEL: 'silent', ETHEREUM_RPC_URLS: 'http://127.0.0.1:1' }

/** A wallet that can pay anything, tagged, and a chain whose newest block is of now. */
export async function withPayer(t: Test): Promise<TestLog> {
  const test = await withLog(t)
  await seedPayer(test.pool, 'wal_1', transferIntent().from)
  await seeNow(test.pool)
  return test
}

async function seedPayer(pool: Pool, walletId: string, address: string, tags: readonly string[] = ['hot']) {
  await pool.query(
    `INSERT INTO wallets (wallet_id, tenant_id, type, network, environment, chain_id, address, label, status, created_at, version, tags)
     VALUES ($1, 'acme', 'hd', 'ethereum', 'mainnet', $2, $3, '', 'active', now(), 2, $4)`,
    [walletId, CHAIN, address, tags],
  )
  await pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     VALUES ($1, $2, 'acme', 1e30, 1, '0x', now())`,
    [walletId, NATIVE.assetId],
  )
}

async function seeNow(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO chain_blocks (chain_id, number, hash, parent_hash, timestamp)
     SELECT $1, count(*) + 1, '0x' || count(*), '0x', extract(epoch FROM now())::bigint FROM chain_blocks`,
    [CHAIN],
  )
}

/** The policy of one limit on all ether that leaves in an hour, without the fee. */
export const capOf = (amount: string): SentPolicy => ({
  default: 'allow',
  rules: [{ id: 'cap', effect: 'limit', limit: { asset_id: ETH.assetId, amount, window_seconds: 3_600 } }],
})

const BY = 'key_1'

async function draft(log: EventLog, sent: SentPolicy): Promise<{ readonly policy: Policy; readonly revision: number }> {
  const policy = readSent(sent)
  const { state } = await log.load(policyAggregate, STREAM)
  const revision = state.status === 'unknown' ? 0 : state.draft.revision
  const now = log.now()
  const command = { type: 'DraftPolicy', ...OWNER, revision, policy, note: null, by: BY, now } as const
  await log.execute(policyAggregate, STREAM, command, { metadata: METADATA })
  return { policy, revision: revision + 1 }
}

/** Nothing else may be opened meanwhile: nobody compares counters here. @returns the version */
export async function publish(log: EventLog, sent: SentPolicy): Promise<number> {
  const command = await publication(log, sent)
  const state = await log.execute(policyAggregate, STREAM, command, { metadata: METADATA })
  return state.status === 'unknown' ? 0 : (state.active?.version ?? 0)
}

/** The decision that publishes it, which is not appended. */
export async function policyDecision(log: EventLog, sent: SentPolicy): Promise<Decision> {
  const command = await publication(log, sent)
  const loaded = await log.load(policyAggregate, STREAM)
  return mustDecideOn(policyAggregate, loaded, command, { metadata: METADATA, now: log.now() })
}

async function publication(log: EventLog, sent: SentPolicy) {
  const { policy, revision } = await draft(log, sent)
  const parts = {
    hash: policyHash(policy),
    basis: 'nothing_opened',
    uncounted: [],
    locksOut: false,
    forced: null,
  } as const
  return { type: 'PublishPolicy', source: { revision }, ...parts, by: BY, now: log.now() } as const
}

export async function shadow(log: EventLog, sent: SentPolicy): Promise<number> {
  const { policy, revision } = await draft(log, sent)
  const command = {
    type: 'ShadowPolicy',
    revision,
    hash: policyHash(policy),
    isSeeded: true,
    by: BY,
    now: log.now(),
  } as const
  const state = await log.execute(policyAggregate, STREAM, command, { metadata: METADATA })
  return state.status === 'unknown' ? 0 : (state.shadow?.version ?? 0)
}

export type ApiProcess = {
  readonly kernel: Kernel
  readonly parts: ComposedApi
  /** Accepts a transfer, as `requestTransfer` does with what its node says. @returns its id */
  readonly pay: (intent?: Partial<Intent>, metadata?: Partial<Metadata>) => Promise<string>
}

/** With its connections open: on a busy machine, opening one may take longer than a request waits for it. */
export async function startProcess(t: Test, url: string, n = 0): Promise<ApiProcess> {
  const config = loadConfig({ ...SETTINGS, DATABASE_URL: url, DATABASE_POOL_SIZE: '2' })
  const kernel = composeKernel(config, 'api', `test:${n}`)
  t.after(() => kernel.close())
  await Promise.all([1, 2].map(() => kernel.pool.query('SELECT pg_sleep(0.01)')))
  const parts = createApiContext(kernel)
  return {
    kernel,
    parts,
    async pay(intent = {}, more = {}) {
      const metadata = { ...METADATA, ...more }
      const { id } = await parts.accept(metadata, async (append) => {
        const wanted = payment(kernel.log.now(), intent)
        const asking = { actor: metadata.actor, accepting: metadata }
        const judged = await parts.policies.judge.transaction('TransferRequested', wanted, asking)
        const opening = openTransaction(kernel.newId, 'TransferRequested', { ...wanted, ...judged }, metadata)
        const { transactionId, decision, guards, explain } = opening
        return append({ id: transactionId, commit: { decisions: [decision], guards }, explain, made: null })
      })
      return id
    },
  }
}

/** Ether, without a fee. */
export function payment(requestedAt: string, parts: Partial<Intent> = {}): Intent {
  const reserved = { gasLimit: 0n, maxFeePerGas: 0n }
  return transferIntent({ chainId: CHAIN, asset: NATIVE, requestedAt, reserved, ...parts })
}

/** One after the other. */
export async function startProcesses(t: Test, url: string, count: number): Promise<readonly ApiProcess[]> {
  const processes: ApiProcess[] = []
  for (let n = 0; n < count; n += 1) processes.push(await startProcess(t, url, n))
  return processes
}

/** The policy parts of what was opened, by the id of the transaction. */
export async function openedBy(pool: Pool): Promise<ReadonlyMap<string, { version: number; shadow?: number } | null>> {
  const { rows } = await pool.query(
    `SELECT substr(stream_id, 13) AS id, (data->>'policy')::jsonb AS policy FROM events
      WHERE stream_version = 1 AND stream_id LIKE 'transaction-%'`,
  )
  return new Map(rows.map(({ id, policy }) => [id, policy]))
}

export const spentIn = async (pool: Pool): Promise<bigint> =>
  BigInt(
    (await pool.query("SELECT coalesce(sum(spent), 0) AS spent FROM spend_buckets WHERE counter LIKE 'policy %'"))
      .rows[0].spent,
  )
