/** The log on a real PostgreSQL: the guarantees of an append, with concurrent appends and failures. */
import t, { type Test } from 'tap'
import { tokenAsset } from '../../src/core/assets.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import {
  FenceLost,
  HoldRefused,
  IdempotentReplay,
  StreamConflict,
  WalletGuardRefused,
} from '../../src/event-log/append.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { LOG_START, loadCheckpoint, readAfter, saveCheckpoint, subscribe } from '../../src/event-log/subscription.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import {
  NATIVE,
  newTransactionId,
  seedWallet,
  TEST_CHAIN,
  type TestLog,
  transferIntent,
  withLog,
} from '../support/log.ts'

const METADATA = { tenantId: 'acme', actor: 'test' }
const NOW = '2026-01-01T00:00:00.000Z'
/** The hold of one transfer of `transferIntent`: 1000 wei and 21000 gas at 2 wei. */
const HOLD = 43_000n

function requested(id: string, overrides: Partial<Intent> = {}) {
  const unknown = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
  const made = decideOn(
    transactionAggregate,
    unknown,
    { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent(overrides) },
    { metadata: METADATA, now: NOW },
  )
  if (made === null) throw new Error('the request produced no event')
  return made
}

async function held({ pool }: TestLog): Promise<string> {
  const { rows } = await pool.query('SELECT held FROM wallet_holds WHERE asset_id = $1', [NATIVE.assetId])
  return rows[0]?.held ?? '0'
}

t.test('an append writes the event, its read-model row and its hold in one transaction', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 50_000n })
  const id = newTransactionId()
  await test.log.append({ decisions: [requested(id)], guards: { wallet: { walletId: 'wal_1', require: 'active' } } })
  const { rows } = await test.pool.query('SELECT state, amount, version FROM transactions WHERE transaction_id = $1', [
    id,
  ])
  t.same(rows, [{ state: 'requested', amount: '1000', version: 1 }])
  t.equal(await held(test), HOLD.toString())
  const [event] = await test.log.readStream(transactionAggregate, id)
  t.equal(event?.type, 'TransferRequested')
  t.same(event?.data, transferIntent())
})

t.test('a thousand simultaneous requests never hold more than the balance', async (t: Test) => {
  const test = await withLog(t)
  const affordable = 100n
  await seedWallet(test.pool, { walletId: 'wal_1', balance: HOLD * affordable + 7n })
  const rival = createEventLog({ pool: test.pool, wakeUps: test.wakeUps, clock: Date.now })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 1_000 }, (_, n) =>
      (n % 2 === 0 ? test.log : rival).append({ decisions: [requested(newTransactionId())] }),
    ),
  )
  const accepted = outcomes.filter(({ status }) => status === 'fulfilled').length
  t.equal(BigInt(accepted), affordable)
  t.ok(outcomes.every((outcome) => outcome.status === 'fulfilled' || outcome.reason instanceof HoldRefused))
  t.equal(await held(test), (HOLD * affordable).toString())
  const { rows } = await test.pool.query('SELECT count(*)::int AS n FROM events')
  t.equal(rows[0].n, accepted)
})

t.test('a refused request does not reduce the funds of requests in the same batch', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: HOLD })
  const token = tokenAsset(TEST_CHAIN, '0x5FbDB2315678afecb367f032d93F642f64180aa3', 'USDC', 6)
  const [ofToken, native] = await Promise.allSettled([
    test.log.append({ decisions: [requested(newTransactionId(), { asset: token })] }),
    test.log.append({ decisions: [requested(newTransactionId())] }),
  ])
  t.ok(ofToken.status === 'rejected' && ofToken.reason instanceof HoldRefused)
  t.equal(native.status, 'fulfilled')
  t.equal(await held(test), HOLD.toString())
})

t.test('two requests with one idempotency key at the same instant make one transaction', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const rival = createEventLog({ pool: test.pool, wakeUps: test.wakeUps, clock: Date.now })
  const outcomes = await Promise.allSettled(
    [test.log, rival, test.log, rival].map((log) => {
      const id = newTransactionId()
      const idempotency = { tenantId: 'acme', key: 'k1', fingerprint: 'f', resourceId: id }
      return log.append({ decisions: [requested(id)], guards: { idempotency } }).then(() => id)
    }),
  )
  const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  t.equal(made.length, 1)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    t.ok(outcome.reason instanceof IdempotentReplay)
    t.equal((outcome.reason as IdempotentReplay).resourceId, made[0])
  }
  t.equal(await held(test), HOLD.toString())
})

t.test('a change to a stream that moved on is refused, and the rest of its batch is appended', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const id = newTransactionId()
  await test.log.append({ decisions: [requested(id)] })
  const other = newTransactionId()
  const [conflict, fine] = await Promise.allSettled([
    test.log.append({ decisions: [requested(id, { amount: 2n })] }),
    test.log.append({ decisions: [requested(other)] }),
  ])
  t.ok(conflict.status === 'rejected' && conflict.reason instanceof StreamConflict)
  t.equal(fine.status, 'fulfilled')
  t.equal(await held(test), (HOLD * 2n).toString())
})

t.test('a commit repeated after a lost answer is appended once', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const commit = { decisions: [requested(newTransactionId())] }
  await test.log.append(commit)
  await test.log.append(commit)
  t.equal(await held(test), HOLD.toString())
  const { rows } = await test.pool.query('SELECT count(*)::int AS n FROM events')
  t.equal(rows[0].n, 1)
})

t.test('an append continues automatically after every connection is cut', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 10_000_000n })
  const appends = Array.from({ length: 100 }, () => test.log.append({ decisions: [requested(newTransactionId())] }))
  await test.pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
  await Promise.all(appends)
  t.equal(await held(test), (HOLD * 100n).toString())
})

t.test('an archived wallet accepts no request', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n, status: 'archived' })
  const refused = test.log.append({
    decisions: [requested(newTransactionId())],
    guards: { wallet: { walletId: 'wal_1', require: 'active' } },
  })
  await t.rejects(refused, new WalletGuardRefused('wallet_not_active'))
  t.equal(await held(test), '0')
})

t.test('a holder whose lease expired and went to another is refused by the fence', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const first = await createLeases({ pool: test.pool, holder: 'a', leaseMs: 1 }).acquire('sign-x')
  await test.pool.query('SELECT pg_sleep(0.01)')
  const second = await createLeases({ pool: test.pool, holder: 'b', leaseMs: 60_000 }).acquire('sign-x')
  if (first === null || second === null) throw new Error('a holder did not get the lease')
  await t.rejects(
    test.log.append({ decisions: [requested(newTransactionId())], guards: { fence: first } }),
    new FenceLost('sign-x'),
  )
  await test.log.append({ decisions: [requested(newTransactionId())], guards: { fence: second } })
  t.equal(await first.renew(), false)
  t.equal(await first.release(), 'lost')
})

t.test('a holder that releases its lease learns that another process wanted it', async (t: Test) => {
  const { pool } = await withLog(t)
  const leases = createLeases({ pool, holder: 'a', leaseMs: 60_000 })
  const lease = await leases.acquire('lane')
  t.equal(await leases.acquire('lane'), null)
  t.equal(await lease?.release(), 'wanted', 'release reports that another caller wanted the lease')
  t.equal(await lease?.release(), 'released')
  t.ok(await leases.acquire('lane'))
})

t.test('the log refuses to be changed', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 1_000_000n })
  await log.append({ decisions: [requested(newTransactionId())] })
  for (const statement of ['UPDATE events SET type = $$x$$', 'DELETE FROM events', 'TRUNCATE events']) {
    await t.rejects(pool.query(statement), /append-only|permission denied/)
  }
})

t.test('each event carries the hash of its stream up to it', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 1_000_000n })
  const id = newTransactionId()
  await log.append({ decisions: [requested(id)] })
  await log.execute(transactionAggregate, id, { type: 'RequestCancellation', now: NOW }, { metadata: METADATA })
  const events = await log.readStream<TransactionEvent>(transactionAggregate, id)
  t.same(
    events.map(({ type }) => type),
    ['TransferRequested', 'CancellationRequested', 'TransactionCancelled'],
  )
  let previous = ''
  for (const event of events) {
    const schemaVersion = transactionAggregate.schemas[event.type].version
    previous = chainHash(previous, canonicalEvent({ ...event, schemaVersion }))
    t.equal(event.hash, previous)
  }
  t.equal((await pool.query('SELECT held FROM wallet_holds')).rows[0].held, '0', 'a cancelled request holds no funds')
})

t.test('a reader skips no event whose transaction commits late', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 1_000_000n })
  const slow = await pool.connect()
  await slow.query('BEGIN')
  await slow.query(`INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
                    VALUES ('slow', 1, 'Slow', 1, '{}', '{}', now(), '')`)
  await log.append({ decisions: [requested(newTransactionId())] })
  t.same((await readAfter(pool, LOG_START, 10)).events, [], 'the later event waits for the earlier transaction')
  await slow.query('COMMIT')
  slow.release()
  const { events } = await readAfter(pool, LOG_START, 10)
  t.same(
    events.map(({ type }) => type),
    ['Slow', 'TransferRequested'],
  )
})

t.test('a subscription delivers a batch again until it is committed, and is woken by appends', async (t: Test) => {
  const { pool, log, wakeUps } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10_000_000n })
  const first = new AbortController()
  await log.append({ decisions: [requested(newTransactionId())] })
  for await (const batch of subscribe({ pool, wakeUps, name: 'reader', signal: first.signal })) {
    t.equal(batch.events.length, 1)
    first.abort() // Dies before the commit.
  }
  const second = new AbortController()
  const seen: string[] = []
  for await (const batch of subscribe({ pool, wakeUps, name: 'reader', signal: second.signal })) {
    seen.push(...batch.events.map(({ streamId }) => streamId))
    await batch.commit()
    if (seen.length === 3) second.abort()
    else if (seen.length === 1)
      for (let n = 0; n < 2; n += 1) void log.append({ decisions: [requested(newTransactionId())] })
  }
  t.equal(new Set(seen).size, 3)
  const checkpoint = await loadCheckpoint(pool, 'reader')
  await saveCheckpoint(pool, 'reader', LOG_START)
  t.same(await loadCheckpoint(pool, 'reader'), checkpoint, 'a checkpoint never moves back')
})

t.test('text that jsonb cannot hold is replaced before it is appended, and hashed as it is stored', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 1_000_000n })
  const id = newTransactionId()
  await log.append({ decisions: [requested(id, { memo: 'a\0b\ud83d' })] })
  const [event] = await log.readStream(transactionAggregate, id)
  t.match(event?.data, { memo: 'a\ufffdb\ufffd' })
  const [loaded] = await log.loadChecked(transactionAggregate, [id])
  t.equal(loaded?.broken, null)
})

t.test('a change that the database cannot hold is skipped, and those beside it are appended', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 20n })
  const ids = Array.from({ length: 7 }, () => newTransactionId())
  // More digits than an amount has.
  const tooMuch = { amount: 10n ** 79n, asset: { ...NATIVE, assetId: 'eip155:1/erc20:0x' } }
  const free = { readModels: { rows: requested(ids[2] ?? '', tooMuch).readModels.rows, holds: [] } }
  const decisions = ids.map((id, n) => (n === 2 ? { ...requested(id, tooMuch), ...free } : requested(id)))
  const aside: string[] = []
  const onUnstorable = (streamId: string) => void aside.push(streamId)
  t.equal((await log.commit(decisions, { onUnstorable })).length, 6)
  t.strictSame(aside, [`transaction-${ids[2]}`])
  const { rows } = await pool.query('SELECT transaction_id FROM transactions ORDER BY transaction_id')
  t.strictSame(
    rows.map(({ transaction_id }) => transaction_id),
    ids.toSpliced(2, 1).sort(),
  )
  t.equal((await log.commit([], { onUnstorable })).length, 0)
  const taken = [requested(ids[0] ?? '', { memo: 'another' }), requested(newTransactionId())]
  await t.rejects(log.commit(taken, { onUnstorable }), StreamConflict, 'a conflict is not left out')
})
