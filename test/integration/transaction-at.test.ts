/** Transactions as of a past time. */
import t, { type Test } from 'tap'
import { decideOn, type Loaded } from '../../src/event-log/aggregate.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { createTransactionReads, type TransactionFilter } from '../../src/transactions/read-transactions.ts'
import { listTransactionsAt, readTransactionAt } from '../../src/transactions/read-transactions-at.ts'
import type { TransactionState } from '../../src/transactions/state.ts'
import { newTransactionId, seedWallet, transferIntent, withLog } from '../support/log.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const MINUTE = (n: number) => `2026-01-01T00:0${n}:00.000Z`

async function withStory(t: Test) {
  const { pool, log, wakeUps } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  const transactions = createTransactionReads({ pool, wakeUps, confirmationsOf: () => 3 })
  const ctx = { log, transactions, clock: () => Date.parse(MINUTE(9)) }
  const id = newTransactionId()
  let loaded: Loaded<TransactionState> = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
  const at = async (minute: number, command: TransactionCommand) => {
    const made = decideOn(transactionAggregate, loaded, command, {
      metadata: { tenantId: 'acme', actor: 'test' },
      now: MINUTE(minute),
    })
    await log.commit([made])
    loaded = made?.after ?? loaded
  }
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  await at(1, { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() })
  const signed = { nonce: 7, hash: '0xa', rawTransaction: '0x02', fees, signedAt: MINUTE(2), quote: null }
  await at(2, { type: 'RecordSignature', signed })
  const block = { blockNumber: 5, blockHash: '0xb5', blockTimestamp: MINUTE(3), minedAt: MINUTE(3) }
  const inclusion = { hash: '0xa', ...block, succeeded: true, logs: null, gasUsed: 21_000n, effectiveGasPrice: 2n }
  await at(3, { type: 'RecordInclusion', inclusion })
  await at(4, { type: 'RecordReorg', head: 5, now: MINUTE(4) })
  await at(5, { type: 'RecordInclusion', inclusion: { ...inclusion, blockNumber: 6, blockHash: '0xb6' } })
  await at(6, { type: 'Settle', confirmations: 4, revertReason: '', now: MINUTE(6) })
  const look = (time: string) => readTransactionAt(ctx, OWNER, 'wal_1', id, time)
  return { id, pool, reads: transactions, look, ctx, log }
}

t.test('each time returns the state of that time', async (t: Test) => {
  const { id, reads, look } = await withStory(t)
  const states = []
  for (let minute = 1; minute <= 7; minute += 1) {
    const { state, status, nonce, hash, block_number, confirmations, history } = await look(MINUTE(minute))
    states.push([state, status, nonce, hash, block_number, confirmations, history.length])
  }
  t.strictSame(states, [
    ['requested', 'pending', null, null, null, 0, 1],
    ['signed', 'pending', 7, '0xa', null, 0, 2],
    ['mined', 'pending', 7, '0xa', 5, 1, 3],
    ['reorged', 'pending', 7, '0xa', null, 0, 4],
    ['mined', 'pending', 7, '0xa', 6, 1, 5],
    ['confirmed', 'confirmed', 7, '0xa', 6, 4, 6],
    ['confirmed', 'confirmed', 7, '0xa', 6, 4, 6],
  ])
  const { confirmations: _, ...now } = await reads.read(OWNER, 'wal_1', id)
  const { confirmations, ...then } = await look(MINUTE(8))
  t.strictSame({ ...then }, { ...now }, 'a time after the last event returns the present state')
  t.equal((await look('2026-01-01T01:02:30+01:00')).state, 'signed', 'a time may have a zone offset')
})

t.test('reads at the same time get each its transaction, exact in every digit, in UTC', async (t: Test) => {
  const { id, pool, log, reads } = await withStory(t)
  const ids = [id]
  const amount = 10n ** 24n + 1n
  for (let n = 0; n < 20; n += 1) {
    const { initialState: state } = transactionAggregate
    const intent = { ...transferIntent(), amount, requestedAt: MINUTE(2) }
    const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent } as const
    const opening = { id: newTransactionId(), state, version: 0, hash: '' }
    const metadata = { tenantId: 'acme', actor: 'test' }
    const opened = decideOn(transactionAggregate, opening, command, { metadata, now: MINUTE(2) })
    await log.commit([opened])
    ids.push(opening.id)
  }
  const one = (wanted: string) => reads.read(OWNER, 'wal_1', wanted)
  const [unknown, ...found] = await Promise.allSettled([newTransactionId(), ...ids].map(one))
  t.match(unknown, { status: 'rejected', reason: { code: 'transaction_not_found' } })
  const views = found.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  t.strictSame(
    views.map(({ transaction_id }) => transaction_id),
    ids,
  )
  t.equal(views.at(-1)?.amount, '1000000.000000000000000001')
  await pool.query(`SET timezone = 'Asia/Kolkata'`)
  t.strictSame(await one(ids.at(-1) ?? ''), views.at(-1))
  t.equal(views.at(-1)?.created_at, MINUTE(2))
})

t.test('before its request a transaction does not exist; a future or invalid time is refused', async (t: Test) => {
  const { id, look, ctx } = await withStory(t)
  await t.rejects(look('2026-01-01T00:00:59.999Z'), { type: 'not_found', code: 'transaction_not_requested_yet' })
  await t.rejects(look('2026-01-01T00:09:00.001Z'), { message: /^at is in the future/ })
  await t.rejects(look('noon'), { message: /^at must be an ISO 8601 time/ })
  await t.rejects(readTransactionAt(ctx, { ...OWNER, tenantId: 'other' }, 'wal_1', id, MINUTE(8)), {
    code: 'transaction_not_found',
  })
  await t.rejects(readTransactionAt(ctx, OWNER, 'wal_2', id, MINUTE(8)), { code: 'transaction_not_found' })
})

t.test('a list returns what existed at that time, in its state of that time, page by page', async (t: Test) => {
  const { id: first, log, ctx } = await withStory(t)
  let second = newTransactionId()
  while (second < first) second = newTransactionId() // Within one millisecond their order is undefined.
  const opened = decideOn(
    transactionAggregate,
    { id: second, state: transactionAggregate.initialState, version: 0, hash: '' },
    {
      type: 'RequestTransaction',
      opening: 'TransferRequested',
      intent: { ...transferIntent(), requestedAt: MINUTE(2), referenceId: 'second' },
    },
    { metadata: { tenantId: 'acme', actor: 'test' }, now: MINUTE(2) },
  )
  await log.commit([opened])
  const list = async (minute: number, filter: Partial<TransactionFilter> = {}, tenant = 'acme') => {
    const { views, goesOnAfter } = await listTransactionsAt(
      ctx,
      tenant,
      'wal_1',
      { limit: 2, ...filter },
      MINUTE(minute),
    )
    return { told: views.map(({ transaction_id: id, state }) => [id, state]), goesOnAfter }
  }

  t.strictSame(await list(0), { told: [], goesOnAfter: null }, 'the list is empty before the first event')
  t.strictSame(await list(1), { told: [[first, 'requested']], goesOnAfter: null })
  const both = [
    [second, 'requested'],
    [first, 'mined'],
  ]
  t.strictSame(await list(3), { told: both, goesOnAfter: null })
  t.strictSame(await list(3, { limit: 1 }), { told: [[second, 'requested']], goesOnAfter: second })
  t.strictSame(await list(3, { limit: 1, before: second }), { told: [[first, 'mined']], goesOnAfter: null })
  t.strictSame(await list(3, { state: 'mined', limit: 1 }), { told: [[first, 'mined']], goesOnAfter: null })
  t.strictSame(
    await list(3, { status: 'pending' }),
    { told: both, goesOnAfter: null },
    'a transaction confirmed later is still pending',
  )
  t.strictSame(await list(3, { status: 'confirmed' }), { told: [], goesOnAfter: null })
  t.strictSame(await list(7, { status: 'confirmed' }), { told: [[first, 'confirmed']], goesOnAfter: null })
  t.strictSame(await list(7, { referenceId: 'second' }), { told: [[second, 'requested']], goesOnAfter: null })
  t.strictSame(await list(7, {}, 'other'), { told: [], goesOnAfter: null }, 'another tenant sees nothing')
  await t.rejects(listTransactionsAt(ctx, 'acme', 'wal_1', { limit: 2 }, 'noon'), {
    message: /^at must be an ISO 8601 time/,
  })
})
