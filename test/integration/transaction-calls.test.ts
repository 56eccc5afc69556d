/** Transactions that call contracts, on a real PostgreSQL: how they are opened, and what they wait for. */

import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { Conflict, InsufficientFunds, ValidationFailed } from '../../src/core/errors.ts'
import { appendOnce } from '../../src/event-log/accept.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { createFindUnfinishedLanes, readLanesOf } from '../../src/transactions/jobs.ts'
import { createLaneReads } from '../../src/transactions/lanes.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import { CONTRACT, LEVEL, mine, NOW, rowOf, settle, withCalls } from '../support/calls.ts'
import { BUT_BALANCES, TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ACME } from '../support/wallet-parts.ts'

t.test('several calls of a wallet are opened in one commit, once for a key, in order', async (t) => {
  const calls = await withCalls(t)
  const { walletId, lane } = await calls.wallet()
  const deploy = await calls.prepare(walletId, {
    kind: 'CollectionDeployRequested',
    subject: { type: 'collection', id: 'col_1' },
  })
  const mints = await Promise.all(
    [1, 2].map((n) => calls.prepare(walletId, { dependsOn: deploy.transactionId, value: BigInt(n) })),
  )
  const commit = { decisions: [deploy, ...mints].map(({ decision }) => decision), guards: deploy.guards }
  const metadata = { ...ACME, idempotency: { key: 'k', fingerprint: 'f' } }
  const opened = await appendOnce(calls.log, commit, { resourceId: 'mint_1', metadata })
  t.strictSame(opened, { id: 'mint_1', replayed: false })
  t.strictSame(await appendOnce(calls.log, commit, { resourceId: 'mint_2', metadata }), {
    id: 'mint_1',
    replayed: true,
  })
  t.match(await rowOf(calls, mints[1]?.transactionId ?? ''), {
    type: 'NFT_MINT',
    state: 'requested',
    to_address: CONTRACT,
    amount: '2',
    asset_symbol: 'ETH',
    depends_on: deploy.transactionId,
    subject_type: 'mint',
    subject_id: 'mint_1',
    succeeded: null,
  })
  t.match(await rowOf(calls, deploy.transactionId), {
    type: 'NFT_DEPLOY',
    depends_on: null,
    subject_type: 'collection',
  })
  const ids = [deploy, ...mints].map(({ transactionId }) => transactionId)
  t.strictSame(ids, ids.toSorted(), 'the ids are in signing order')
  t.strictSame(await calls.lanes.waiting(lane, 10), [deploy.transactionId])
  const { rows } = await calls.pool.query('SELECT held FROM wallet_holds WHERE wallet_id = $1', [walletId])
  t.equal(rows[0].held, (3n * 100_000n * LEVEL.maxFeePerGas + 3n).toString(), 'gas and value are reserved')
})

t.test('tokens that a call takes are held, and refused when the wallet has fewer', async (t) => {
  const calls = await withCalls(t)
  const { walletId } = await calls.wallet()
  const asset = { assetId: 'eip155:1/erc20:0x01', symbol: 'TST', decimals: 2, contract: '0x01' }
  await calls.pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     VALUES ($1, $2, 'acme', 1000, 1, '0x', now())`,
    [walletId, asset.assetId],
  )
  await calls.call(walletId, { outflows: [{ asset, amount: 700n }] })
  const { decision, guards, explain } = await calls.prepare(walletId, { outflows: [{ asset, amount: 301n }] })
  const refused = await calls.log.append({ decisions: [decision], guards }).catch(explain)
  t.ok(refused instanceof InsufficientFunds)
  t.match((refused as InsufficientFunds).items[0]?.details, { asset: 'TST', available: '3', needed: '3.01' })
  await calls.call(walletId, { outflows: [{ asset, amount: 300n }] })
  t.strictSame((await compareLive(calls.pool, LOG_CONTENTS, { tables: BUT_BALANCES })).differences, [])
})

t.test('a transfer without funds is refused with what the whole commit needs, and nothing is recorded', async (t) => {
  const calls = await withCalls(t)
  const fee = 100_000n * LEVEL.maxFeePerGas
  const { walletId, address } = await calls.wallet(2n * fee)
  const prepared = await Promise.all([1, 2, 3].map(() => calls.prepare(walletId)))
  const [first] = prepared
  const refused = calls.log
    .append({ decisions: prepared.map(({ decision }) => decision), guards: first?.guards ?? {} })
    .catch((error) => Promise.reject(first?.explain(error)))
  await t.rejects(refused, InsufficientFunds)
  const error = (await refused.catch((thrown) => thrown)) as InsufficientFunds
  t.strictSame(error.items[0]?.details, {
    asset: 'ETH',
    available: '0.004',
    needed: '0.006',
    wallet_id: walletId,
    address,
  })
  t.match(error.message, /has 0\.004 ETH available and needs 0\.006/)
  t.equal((await calls.pool.query('SELECT FROM transactions')).rowCount, 0)
  await calls.call(walletId)
  await calls.call(walletId)
})

t.test('watch and archived wallets send nothing, and an expired transfer is not sent', async (t) => {
  const calls = await withCalls(t)
  const place = { network: 'ethereum', environment: 'mainnet', chainId: TEST_CHAIN } as const
  const watch = { ...place, address: CONTRACT, label: '', notifications: {} }
  const { id } = await watchWallet(calls, watch, { metadata: ACME })
  const watched = await t.rejects(calls.prepare(id), { code: 'validation_failed' })
  matchExactly(t, watched, { items: [{ field: 'wallet_id', code: 'watch_only' }] })
  const { walletId } = await calls.wallet()
  await t.rejects(calls.prepare(walletId, { validUntil: NOW }), ValidationFailed)
  const { decision, guards, explain } = await calls.prepare(walletId)
  await calls.pool.query(`UPDATE wallets SET status = 'archived' WHERE wallet_id = $1`, [walletId])
  const refused = calls.log.append({ decisions: [decision], guards }).catch((error) => Promise.reject(explain(error)))
  await t.rejects(refused, { constructor: Conflict, code: 'wallet_archived' })
  const other = new Error('else')
  t.equal(explain(other), other)
})

t.test('a lane leaves out what depends on an undecided transaction, and keeps the order of the rest', async (t) => {
  const calls = await withCalls(t)
  const { walletId, lane } = await calls.wallet()
  const waiting = () => calls.lanes.waiting(lane, 10)
  const deploy = await calls.call(walletId, { kind: 'CollectionDeployRequested' })
  const first = await calls.call(walletId, { dependsOn: deploy })
  const free = await calls.call(walletId)
  const second = await calls.call(walletId, { dependsOn: deploy })
  const lost = await calls.call(walletId, { dependsOn: 'tx_that_never_was' })
  t.strictSame(await waiting(), [deploy, free, lost], 'a call with an unknown dependency is not left out: it must fail')
  await mine(calls, deploy, 0)
  t.strictSame(await waiting(), [first, free, second, lost])
  await calls.log.execute(
    transactionAggregate,
    deploy,
    { type: 'RecordReorg', head: 200, now: NOW },
    { metadata: ACME },
  )
  t.strictSame(await waiting(), [free, lost], 'a dependency in a block that a reorg removed is undecided')

  const failing = await calls.call(walletId)
  const behind = await calls.call(walletId, { dependsOn: failing })
  await mine(calls, failing, 1, false)
  t.strictSame(await waiting(), [free, lost], 'a failure that is not final is undecided')
  await settle(calls, failing)
  t.strictSame(await waiting(), [free, lost, behind])
  t.strictSame(await calls.lanes.waiting(lane, 1), [free])
})

t.test('waiting transactions are found through their index, with one look-up for each dependency', async (t) => {
  const { pool } = await withCalls(t)
  await pool.query(`
    INSERT INTO transactions SELECT row.* FROM generate_series(1, 20000) AS n CROSS JOIN LATERAL jsonb_populate_record(NULL::transactions, jsonb_build_object(
      'transaction_id', 'tx_' || lpad(n::text, 8, '0'), 'tenant_id', 'a', 'wallet_id', 'w', 'network', 'ethereum', 'environment', 'mainnet',
      'chain_id', 1, 'type', 'TRANSFER', 'state', CASE WHEN n > 19000 THEN 'requested' WHEN n > 15000 THEN 'submitted' ELSE 'confirmed' END,
      'status', CASE WHEN n > 15000 THEN 'pending' ELSE 'confirmed' END, 'from_address', '0x' || n % 7, 'to_address', '0x', 'asset_id', 'x', 'asset_symbol', 'ETH', 'asset_decimals', 18, 'amount', 1,
      'gas_priority', 'low', 'nonce', CASE WHEN n > 19000 THEN NULL ELSE n END, 'hashes', '[]'::jsonb, 'fee_estimated', 1, 'history', '[]'::jsonb,
      'depends_on', CASE WHEN n > 19500 THEN 'tx_' || lpad((n - 10000)::text, 8, '0') END,
      'estimated_completion_at', now(), 'created_at', now(), 'updated_at', now(), 'version', 1)) AS row`)
  await pool.query('ANALYZE transactions')
  const seen: string[] = []
  const explaining = {
    async query({ text, values }: { text: string; values: unknown[] }) {
      await pool.query('SET plan_cache_mode = force_generic_plan')
      const { rows } = await pool.query(`EXPLAIN (FORMAT TEXT) ${text}`, values)
      seen.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
      return { rows: [] }
    },
  }
  await createLaneReads(explaining as never).waiting({ chainId: 1, address: '0x3' }, 128)
  const [plan = ''] = seen
  t.comment(plan)
  t.match(plan, /Index Scan using transactions_waiting on transactions t/)
  t.match(plan, /Index Scan using transactions_pkey on transactions d/)
  t.notMatch(plan, /Seq Scan|Hash|Sort/)
})

t.test('dependents of a transaction are found once it is decided, in any lane', async (t) => {
  const calls = await withCalls(t)
  const [one, other] = [await calls.wallet(), await calls.wallet()]
  const dependency = await calls.call(one.walletId)
  for (const { walletId } of [other, other, one]) await calls.call(walletId, { dependsOn: dependency })
  t.same(await readLanesOf(calls.pool, [dependency], []), {
    own: new Map([[dependency, one.lane]]),
    dependents: new Map(),
  })
  const { own, dependents } = await readLanesOf(calls.pool, [], [dependency])
  t.equal(own.size, 0)
  t.strictSame(
    dependents
      .get(dependency)
      ?.map(({ address }) => address)
      .toSorted(),
    [one.address, other.address].toSorted(),
    'each lane is returned once',
  )
  const unfinished = await createFindUnfinishedLanes(calls.pool, { quietMs: -1_000, sentMs: 10 ** 12 })(10)
  t.equal(unfinished.length, 2, 'the sweeper finds both lanes without their jobs')
})

t.test('rows of calls fold from the log to their present state', async (t) => {
  const calls = await withCalls(t)
  const { walletId } = await calls.wallet()
  const ids = [await calls.call(walletId), await calls.call(walletId, { dependsOn: 'tx_1', subject: null })]
  await mine(calls, ids[0] ?? '', 0)
  await mine(calls, ids[1] ?? '', 1, false)
  await settle(calls, ids[1] ?? '')
  t.strictSame((await compareLive(calls.pool, LOG_CONTENTS, { tables: BUT_BALANCES })).differences, [])
})
