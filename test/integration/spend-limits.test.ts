/** Limits of what is spent in a window, in the append: exact whoever races, given back once, and the same after a rebuild. */
import fc from 'fast-check'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { LimitReached } from '../../src/event-log/append.ts'
import { createGroupCommit } from '../../src/event-log/group-commit.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { loginAs, poolUntilEnd } from '../support/database-login.ts'
import { newTransactionId } from '../support/log.ts'
import { append, decided, METADATA, NOW, REFUSED, sent } from '../support/raw-append.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'
import { at, COUNTER, HOUR, open, type Spend, seeBlock, spending, spentOf, withSpending } from '../support/spending.ts'

const TABLES = ['transactions', 'wallet_holds', 'spend_buckets', 'idempotency_keys'] as const

for (const run of [1, 2, 3]) {
  t.test(`twelve connections that race for the last unit spend exactly the limit (${run} of 3)`, async (t) => {
    const { url, pool, log } = await withSpending(t)
    const lines = Array.from({ length: 12 }, () =>
      createGroupCommit(poolUntilEnd(t, { connectionString: url, max: 1 })),
    )
    let accepted = 0
    let refused = 0
    const spendAll = async (line: (typeof lines)[number], seed: number) => {
      for (let n = 0; n < 60; n += 1) {
        const size = 1 + ((seed + n) % 8)
        const tried = await Promise.allSettled(
          Array.from({ length: size }, async () =>
            line.append({ decisions: [await decided(log, newTransactionId(), spending({ amount: 1n }))] }),
          ),
        )
        for (const one of tried) {
          if (one.status === 'fulfilled') accepted += 1
          else if (one.reason instanceof LimitReached) refused += 1
          else throw one.reason
        }
        if (refused > 2_000) return
      }
    }
    await Promise.all(lines.map(spendAll))
    t.equal(accepted, 500)
    t.ok(refused > 500, `${refused} were refused`)
    t.equal(await spentOf(pool), '500')
    t.equal((await pool.query('SELECT FROM transactions')).rowCount, 500)
  })
}

t.test('a refusal says what is left and when there is room', async (t) => {
  const { pool, log } = await withSpending(t)
  await seeBlock(pool, at(2 * HOUR))
  await open(log, { amount: 300n })
  await open(log, { amount: 150n, at: at(600) })
  const refusal = async (spend: Spend) => {
    const error = await open(log, spend).catch((found: unknown) => found)
    if (!(error instanceof LimitReached)) throw error
    return { left: error.left, needed: error.needed, roomAt: error.roomAt?.toISOString() ?? null }
  }
  const width = HOUR / 96
  t.strictSame(await refusal({ amount: 51n, at: at(900) }), { left: 50n, needed: 51n, roomAt: at(HOUR + width) })
  t.strictSame(await refusal({ amount: 400n, at: at(900) }), {
    left: 50n,
    needed: 400n,
    roomAt: at(600 + HOUR + width),
  })
  t.strictSame(await refusal({ amount: 501n, at: at(900) }), { left: 50n, needed: 501n, roomAt: null })
  await t.resolves(open(log, { amount: 50n, at: at(900) }))
  await t.rejects(open(log, { amount: 1n, at: at(HOUR + width - 1) }), LimitReached)
  await t.resolves(open(log, { amount: 300n, at: at(HOUR + width) }), 'there is room when it was said')
})

t.test('of a batch that fits in part nothing is spent, and the next one that fits is', async (t) => {
  const { pool, log } = await withSpending(t)
  const batch = async (...amounts: bigint[]) =>
    log.append({
      decisions: await Promise.all(amounts.map((amount) => decided(log, newTransactionId(), spending({ amount })))),
    })
  await t.rejects(batch(300n, 150n, 51n), LimitReached)
  t.equal(await spentOf(pool), '0')
  const tried = await Promise.allSettled([batch(200n, 200n), batch(60n, 60n), batch(100n)])
  t.strictSame(
    tried.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.equal(await spentOf(pool), '500')
})

t.test('what a transaction reserved is given back exactly once, to its bucket', async (t) => {
  const { pool, log } = await withSpending(t)
  const step = (id: string, command: TransactionCommand) =>
    log.execute(transactionAggregate, id, command, { metadata: METADATA })
  const mine = async (id: string, nonce: number, succeeded: boolean) => {
    const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
    const hash = `0x${nonce}`
    await step(id, { type: 'RecordSignature', signed: { nonce, hash, rawTransaction: '0x02', fees, signedAt: NOW } })
    const block = { blockNumber: nonce, blockHash: `0xb${nonce}`, blockTimestamp: NOW, minedAt: NOW }
    const used = { gasUsed: 21_000n, effectiveGasPrice: 2n, logs: null }
    await step(id, { type: 'RecordInclusion', inclusion: { hash, succeeded, ...block, ...used } })
    await step(id, { type: 'Settle', confirmations: 2, revertReason: 'why', now: NOW })
  }
  const ids = [await open(log, { amount: 100n, kept: 7n }), await open(log, { amount: 100n, kept: 7n })] as const
  for (const _ of ['once', 'again'])
    await step(ids[0], { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW })
  t.equal(await spentOf(pool), '100', 'it failed: all of it')
  await step(ids[1], { type: 'RequestCancellation', now: NOW })
  t.equal(await spentOf(pool), '0', 'it was cancelled before it was signed: all of it')
  const mined = await open(log, { amount: 100n, kept: 7n })
  await mine(mined, 1, true)
  t.equal(await spentOf(pool), '100', 'it is confirmed: nothing')
  const reverted = await open(log, { amount: 100n, kept: 7n })
  await mine(reverted, 2, false)
  t.equal(await spentOf(pool), '107', 'it was reverted: all but the fee')
  await open(log, { amount: 393n })
  await step(reverted, { type: 'RecordReorg', head: 9, now: NOW })
  t.equal(await spentOf(pool), '593', 'its outcome is revoked: it counts again, above the limit')
  t.strictSame((await compareLive(pool, LOG_CONTENTS, { tables: TABLES })).differences, [])
})

t.test('an append that is repeated because its answer was lost counts once', async (t) => {
  const { pool, log } = await withSpending(t)
  const id = newTransactionId()
  const idempotency = { key: 'invoice-1', fingerprint: 'f' }
  const commit = {
    decisions: [await decided(log, id, spending({ amount: 500n }), { ...METADATA, idempotency })],
    guards: { idempotency: { tenantId: 'acme', ...idempotency, resourceId: id } },
  }
  await log.append(commit)
  await log.append(commit)
  t.equal(await spentOf(pool), '500')
  const other = {
    ...commit,
    decisions: [await decided(log, newTransactionId(), spending({ amount: 500n }), { ...METADATA, idempotency })],
  }
  const named = { idempotency: { ...commit.guards.idempotency, resourceId: newTransactionId() } }
  await t.rejects(
    log.append({ ...other, guards: named }),
    { code: 'idempotent_replay' },
    'a full limit hides no replay',
  )
  t.equal(await spentOf(pool), '500')
})

t.test('a clock that steps forward opens no window, and one that steps back forgets nothing', async (t) => {
  const { pool, log } = await withSpending(t)
  await open(log, { amount: 500n })
  await t.rejects(
    open(log, { amount: 1n, at: at(2 * HOUR) }),
    { code: 'limit_time_unknown' },
    'the chain is not there yet',
  )
  await t.rejects(open(log, { amount: 1n, at: at(-2 * HOUR) }), LimitReached)
  await seeBlock(pool, at(2 * HOUR - 299))
  await t.resolves(open(log, { amount: 1n, at: at(2 * HOUR) }))
  await pool.query('DELETE FROM chain_blocks')
  await t.rejects(
    open(log, { amount: 1n, at: at(2 * HOUR) }),
    { code: 'limit_time_unknown' },
    'nothing is known of the chain',
  )
  t.equal(await spentOf(pool), '501')
})

t.test('no interval of the window has more than the limit, whatever the clocks say', async (t) => {
  const { pool, log } = await withSpending(t)
  await seeBlock(pool, at(20 * HOUR))
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 5 * HOUR }), fc.integer({ min: 1, max: 60 })), {
        minLength: 20,
        maxLength: 60,
      }),
      async (clocks) => {
        runs += 1
        const counter = `run_${runs} 3600`
        const spent: { time: number; amount: number }[] = []
        for (const [time, amount] of clocks) {
          const accepted = await open(log, { amount: BigInt(amount), limit: 100n, at: at(time), counter }).then(
            () => true,
            (error) => {
              if (error instanceof LimitReached) return false
              throw error
            },
          )
          if (accepted) spent.push({ time, amount })
        }
        for (const { time: from } of spent) {
          const within = spent.filter(({ time }) => time >= from && time <= from + HOUR)
          if (within.reduce((sum, { amount }) => sum + amount, 0) > 100) return false
        }
        return true
      },
    ),
    { numRuns: 10, seed },
  )
  t.equal(runs, 10)
})

t.test('counters that are rebuilt from the log are those of the append', async (t) => {
  const { pool, log } = await withSpending(t)
  for (const n of [1, 2, 3])
    await open(log, { amount: 10n, at: at(n * 60) }, { amount: BigInt(n), counter: 'b 3600', at: at(n) })
  const failed = await open(log, { amount: 100n })
  await log.execute(
    transactionAggregate,
    failed,
    { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW },
    { metadata: METADATA },
  )
  const rows = async () => (await pool.query('SELECT * FROM spend_buckets WHERE spent <> 0 ORDER BY 1, 2')).rows
  const before = await rows()
  await pool.query('UPDATE spend_buckets SET spent = spent + 1')
  t.not((await compareLive(pool, LOG_CONTENTS, { tables: TABLES })).differences.length, 0, 'a changed counter is found')
  await rebuild(pool, LOG_CONTENTS, { tables: ['spend_buckets'] })
  t.strictSame(await rows(), before)
})

t.test('no process writes a counter otherwise than by events of transactions', async (t) => {
  const { pool, log, url } = await withSpending(t)
  const own = sent({ decisions: [await decided(log, newTransactionId(), spending({ amount: 5n }))] })
  const row = { counter: COUNTER, bucket: at(0), spent: '0' }
  await open(log, { amount: 3n })
  for (const role of DATABASE_ROLES.filter((name) => name !== 'operator')) {
    const login = await loginAs(t, { pool, url }, role)
    const statements = [
      'UPDATE spend_buckets SET spent = 0',
      'DELETE FROM spend_buckets',
      `INSERT INTO spend_buckets VALUES ('${COUNTER}', now(), 1)`,
      'SELECT count_spends(NULL, NULL)',
      'SELECT spend_changes(NULL, NULL)',
      'SELECT refuse_spends(NULL, NULL)',
    ]
    for (const statement of statements) await t.rejects(login.query(statement), REFUSED, `${role}: ${statement}`)
    const forged = { ...own, rows: { ...own.rows, spend_buckets: [row] } }
    await t.rejects(append(login, forged), REFUSED, `${role}: rows of an append`)
    if (role !== 'api') await t.rejects(append(login, own), REFUSED, `${role}: a reservation`)
  }
  t.equal(await spentOf(pool), '3')
  const api = await loginAs(t, { pool, url }, 'api')
  const requested = async (spend: Spend) =>
    sent({ decisions: [await decided(log, newTransactionId(), spending(spend))] })
  for (const bad of [
    { amount: 1n, kept: 2n },
    { amount: 10n ** 91n, limit: 10n ** 92n },
  ])
    await t.rejects(append(api, await requested(bad)), { code: '22023' })
  await t.rejects(requested({ amount: -1n }), TypeError, 'the program writes no negative amount')
  const one = await requested({ amount: 77_777n })
  const { stream_id: streamId, type, ...event } = one.events[0] as Readonly<Record<string, string>>
  const negative = rawEvent({
    ...{ streamId: streamId ?? '', type: type ?? '', schemaVersion: Number(event.schema_version) },
    recordedAt: event.recorded_at ?? '',
    data: JSON.stringify(event.data).replace('"77777"', '"-1"'),
    metadata: JSON.stringify(event.metadata),
  })
  await t.rejects(appendRaw(api, [negative], one.rows, one.guards), { code: '22023' }, 'the database takes none')
  await t.resolves(append(api, own))
  t.equal(await spentOf(pool), '8')
})

t.test('what a process that signs gives back is what its transaction reserved, once', async (t) => {
  const { pool, log, url } = await withSpending(t)
  const [failed, kept] = [await open(log, { amount: 3n }), await open(log, { amount: 4n })]
  const signer = await loginAs(t, { pool, url }, 'signer')
  const failure = { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW } as const
  const own = sent({ decisions: [await decided(log, failed, failure)] })
  const foreign = { ...own.rows.transactions?.[0], transaction_id: kept }
  const forged = { ...own, rows: { ...own.rows, transactions: [...(own.rows.transactions ?? []), foreign] } }
  await t.rejects(append(signer, forged), REFUSED, 'a row without its event')
  t.equal(await spentOf(pool), '7')
  await append(signer, own)
  await append(signer, own).catch(() => undefined)
  t.equal(await spentOf(pool), '4')
})
