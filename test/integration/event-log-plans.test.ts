/** Statements that run for every block, request or sweep use indexes, however many wallets there are. */

import type { Pool } from 'pg'
import t from 'tap'
import { readActivity } from '../../src/activity/read-activity.ts'
import { blocksOfTransfers, transfersAbove, transfersUpTo } from '../../src/activity/transfer-reads.ts'
import { availableOf } from '../../src/balances/available.ts'
import { createBalanceChains } from '../../src/balances/chain.ts'
import { createHolderReads } from '../../src/balances/holder-reads.ts'
import { loadBalances } from '../../src/balances/load-balances.ts'
import { observeBalances } from '../../src/balances/observe-block.ts'
import { reconcile } from '../../src/balances/reconcile.ts'
import { createTokenRotation } from '../../src/balances/token-rotation.ts'
import type { Block } from '../../src/chain/blocks.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import {
  readLogEnd,
  readTenantEnd,
  readTenantLog,
  readTenantRange,
  readWholeLog,
} from '../../src/event-log/read-logged.ts'
import { readTenantStreams, readTenantTypes } from '../../src/event-log/read-part.ts'
import { LOG_START } from '../../src/event-log/subscription.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { createBlockReads, hasInFlight } from '../../src/transactions/block-reads.ts'
import { findLanes, ownersOf } from '../../src/transactions/find-lanes.ts'
import { createFindUnfinishedLanes, readLanesOf } from '../../src/transactions/jobs.ts'
import { createLaneReads, laneName } from '../../src/transactions/lanes.ts'
import { createObservedBlock } from '../../src/transactions/observed-block.ts'
import { createOutsideReads } from '../../src/transactions/outside.ts'
import { PARTITIONS } from '../../src/transactions/partitions.ts'
import { createTransactionReads, transactionsOf } from '../../src/transactions/read-transactions.ts'
import { createRowsOf } from '../../src/transactions/recorded-rows.ts'
import { recordAttempts } from '../../src/webhooks/deliveries.ts'
import { findDueLines } from '../../src/webhooks/due-webhooks.ts'
import { nextDeliveries } from '../../src/webhooks/next-deliveries.ts'
import { TEST_CHAIN, withLog } from '../support/log.ts'
import {
  insertBalances,
  insertStreams,
  insertTransactions,
  insertTransfers,
  insertWallets,
} from '../support/many-rows.ts'
import { mostRead, noting, type Plan, readWhole } from '../support/plans.ts'

const WALLETS = 50_000
/** Sequential scans of these cost more with every wallet, transaction or event. */
const GROWING = ['wallets', 'transactions', 'balances', 'events', 'wallet_holds', 'observed_transfers']
const ADDRESS = `0x1${(7).toString(16).padStart(39, '0')}`
const LANE = { chainId: TEST_CHAIN, address: ADDRESS }
/** What a pass of a signer looks for. */
const LOOK = { unchangedMs: 60_000, maxInFlight: 64, limit: 256, except: [] }

/** Rows that were read and are no part of the result. */
function readInVain(plan: Plan): number {
  return (plan.Plans ?? []).reduce((sum, one) => sum + readInVain(one), plan['Rows Removed by Filter'] ?? 0)
}

const BLOCK: Block = {
  number: 2_000,
  hash: '0xb',
  parentHash: '0xa',
  timestamp: 1,
  baseFeePerGas: 1n,
  income: null,
  transactions: Array.from({ length: 200 }, (_, n) => ({
    hash: `0x${n}`,
    from: `0x1${(n + 1).toString(16).padStart(39, '0')}`,
    to: ADDRESS,
    nonce: n,
    value: 1n,
    input: '0x',
    status: 'success',
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    offer: { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
    logs: [],
    authorizations: [],
    hasBlobs: false,
  })),
}

/** What passes over a lane read. */
async function readLane(spy: Pool): Promise<void> {
  const lanes = createLaneReads(spy)
  await lanes.waiting(LANE, 256)
  await lanes.inFlight(LANE)
  await lanes.room(LANE, 0, 5)
  await lanes.look(LANE, LOOK)
  await lanes.spare(LANE)
  await lanes.stuck(LANE, 60_000, 16)
  await Promise.all([lanes.gaps(LANE, 0, 60_000), lanes.fillersOfHour(LANE, 0)])
  await lanes.highestInFlight(LANE, 8)
  await lanes.toSubmit(LANE, { forgottenAfterMs: 60_000, afterNonce: -1, limit: 256 })
  for (const step of ['sign', 'submit'] as const) {
    await ownersOf(spy, step, [laneName(LANE)])
    for (const isStale of [false, true]) await findLanes(spy, step, PARTITIONS, isStale)
  }
  const outside = createOutsideReads(spy)
  await outside.knowledge(LANE)
  await outside.assigned(LANE, 0, 5)
  await outside.overtaken(LANE)
  await createObservedBlock(spy)(LANE)
}

t.test('no statement of a block, a lane, a sweep or a read goes through a whole table', async (t) => {
  const { pool, wakeUps } = await withLog(t)
  await insertWallets(pool, { count: WALLETS, tenants: 20 })
  await insertBalances(pool, WALLETS)
  await insertStreams(pool, WALLETS)
  await insertTransfers(pool, WALLETS)
  await insertTransactions(pool, { wallet: 'n', count: WALLETS, nonce: '0', block: 'n / 25', state: 'confirmed' })
  await insertTransactions(pool, { prefix: 'u', wallet: 'n', count: 500, nonce: '1', state: 'awaiting_funds' })
  await pool.query('ANALYZE')
  const { spy, noted } = noting(pool)
  const log = createEventLog({ pool: spy, wakeUps, clock: Date.now })
  const nobody = { batch: async () => [] }
  const settings = {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: TEST_CHAIN,
    multicall3Address: null,
    tokens: [],
  }
  const chainOf = createBalanceChains([{ settings: settings as never, client: nobody, foreign: nobody } as never])
  const ports = {
    pool: spy,
    log,
    chainOf,
    load: (walletIds: readonly string[]) => loadBalances({ pool: spy, log }, walletIds),
  }
  const unread = { ...ports, reads: createHolderReads(spy), readForRecord: async () => [] }
  await observeBalances(unread, { chain: settings as never, blocks: [BLOCK], now: log.now() })
  await reconcile({ ...unread, rotation: createTokenRotation(unread) }, TEST_CHAIN)
  await ports.load(['wal_0000001'])
  await availableOf({ pool: spy }, 'wal_0000001', 'eip155:1/slip44:60')
  const blocks = createBlockReads(spy)
  await blocks.ownSenders(TEST_CHAIN, [ADDRESS])
  await blocks.byNonce(TEST_CHAIN, [{ address: ADDRESS, nonce: 0, hash: '0x' }])
  await blocks.inBlocksAbove(TEST_CHAIN, 1_990)
  await blocks.minedUpTo(TEST_CHAIN, 1_990)
  await blocks.recordedBlocks(TEST_CHAIN, 1_990)
  await blocks.quiet(TEST_CHAIN, 60_000)
  await hasInFlight(spy, TEST_CHAIN)
  await readLane(spy)
  await createRowsOf(spy)(['tx00000001'], ['policy-tenant_0-mainnet'])
  await log.loadMany(transactionAggregate, ['tx00000001'])
  await log.loadChecked(transactionAggregate, ['tx00000001'])
  await createFindUnfinishedLanes(spy, { quietMs: 60_000, sentMs: 60_000 })(1_000)
  await readLanesOf(spy, ['tx00000001'], ['tx00000001'])
  const reads = createTransactionReads({ pool: spy, wakeUps, confirmationsOf: () => 2 })
  await reads.readById('tenant_0', 'tx00000001')
  await reads.list('tenant_0', 'wal_0000001', { limit: 10 })
  await transfersUpTo(spy, TEST_CHAIN, 1_990)
  await transfersAbove(spy, TEST_CHAIN, 1_990)
  await blocksOfTransfers(spy, TEST_CHAIN, 1_990)
  const anything = { direction: undefined, asset: undefined, before: undefined }
  await readActivity(spy, { ...anything, tenantId: 'tenant_0', walletId: 'wal_0000001', limit: 10 })
  const owner = { tenantId: 'tenant_0', environment: 'mainnet' } as const
  await readTenantLog(spy, owner, LOG_START, 100)
  await readTenantEnd(spy, owner)
  const range = { after: LOG_START, until: { transactionId: 10n ** 6n, position: 1n }, from: new Date(), to: null }
  await readTenantRange(spy, owner, range, 100)
  await readTenantTypes(spy, owner, { ...range, types: ['TransactionMined', 'TransferObserved'] }, 100)
  await readTenantStreams(spy, owner, { ...range, streamIds: ['wallet-wal_0000001', 'balance-wal_0000001'] }, 100)
  await transactionsOf(spy, 'mint', 'mint_1')
  await readWholeLog(spy, LOG_START, 100)
  await readLogEnd(spy)
  t.ok(noted.size > 20, `${noted.size} statements are explained`)
  for (const [name, { text, values }] of noted) {
    const now = await pool.query(`EXPLAIN (FORMAT JSON) ${text}`, values)
    // Named statements are planned once for all values.
    const forAll = await pool.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
    for (const { rows } of [now, forAll]) t.strictSame(readWhole(rows[0]['QUERY PLAN'][0].Plan, GROWING), [], name)
  }
})

t.test('the work of a lane is found without reading what waits, or what was mined, beside it', async (t) => {
  const { pool } = await withLog(t)
  const wallet = '7'
  await insertTransactions(pool, { prefix: 'c', wallet, count: 10_000, nonce: 'n', block: 'n', state: 'confirmed' })
  await insertTransactions(pool, { prefix: 's', wallet, count: 64, nonce: '10000 + n', state: 'submitted' })
  await insertTransactions(pool, { prefix: 'w', wallet, count: 10_000, state: 'requested' })
  await pool.query('ANALYZE')
  const { spy, noted } = noting(pool)
  const lanes = createLaneReads(spy)
  t.equal((await lanes.waiting(LANE, 256))[0], 'w00000001')
  t.equal(await lanes.inFlight(LANE), 64)
  t.equal((await lanes.stuck(LANE, 60_000, 16)).length, 16)
  const looked = await lanes.look(LANE, { ...LOOK, maxInFlight: 100 })
  t.strictSame([looked.inFlight, looked.waiting.length, looked.stuck.length], [64, 36, 16])
  t.equal((await lanes.highestInFlight(LANE, 8))[0], 's00000064')
  t.equal((await lanes.toSubmit(LANE, { forgottenAfterMs: 60_000, afterNonce: -1, limit: 32 })).length, 32)
  t.equal(noted.size, 6)
  for (const [name, { text, values }] of noted) {
    await pool.query('SET plan_cache_mode = force_generic_plan')
    const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    t.ok(readInVain(rows[0]['QUERY PLAN'][0].Plan) < 64, name)
  }
})

t.test('a round of deliveries reads neither what was sent nor what waits behind it', async (t) => {
  const { pool } = await withLog(t)
  const add = (webhook: string, from: number, to: number, state: string) =>
    pool.query(
      `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, state, due_at, created_at)
       SELECT 'dlv_' || lpad(n::text, 8, '0'), $1, 'acme', 'evt_' || n, 'x', 's' || n / 5, '5', n, 0, $4, now(), now() FROM generate_series($2::integer, $3) AS n`,
      [webhook, from, to, state],
    )
  await pool.query(`INSERT INTO webhooks SELECT 'one', 'acme', 'mainnet', 'https://example.com', NULL, NULL, NULL, 'full', '["v1"]', NULL, '[]',
     'enabled', NULL, now(), now(), 1`)
  await add('other', 1, 20_000, 'delivered')
  await add('one', 20_001, 40_000, 'delivered')
  // The statistics of a quiet service: nothing waits.
  await pool.query('ANALYZE webhook_deliveries')
  await add('one', 40_001, 50_000, 'pending')
  const { spy, noted } = noting(pool)
  const ctx = { pool: spy, clock: Date.now, random: Math.random }
  t.strictSame(await findDueLines(spy, new Date()), ['one'])
  const line = { webhookId: 'one', isReplay: false }
  const { deliveries: due } = await nextDeliveries(ctx, { line, rest: 'all', isAsked: true, isWaiting: true })
  t.equal(due.length, 256)
  const posted = {
    outcome: 'delivered',
    status: 200,
    error: null,
    response: '',
    durationMs: 1,
    retryAfterMs: null,
  } as const
  await recordAttempts(
    ctx,
    { webhookId: 'one', isReplay: false },
    due.map((delivery) => ({ delivery, posted, isRefused: false })),
  )
  t.equal(noted.size, 5)
  await pool.query('SET plan_cache_mode = force_generic_plan')
  for (const [name, { text, values }] of noted) {
    const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    const { Plan: plan } = rows[0]['QUERY PLAN'][0]
    t.ok(mostRead(plan) < 1_000, `${name}: ${mostRead(plan)} rows`)
  }
})
