/**
 * On a real PostgreSQL: with the database login of a follower nobody tells a cancellation with its block, and with that of
 * an API nobody tells it at all.
 */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { type TransactionCommand, transactionDecider } from '../../src/transactions/decider.ts'
import { loginAs } from '../support/database-login.ts'
import { newTransactionId, seedWallet, TEST_CHAIN, transferIntent, withLog } from '../support/log.ts'

const REFUSED = { code: '42501' }
const METADATA = { tenantId: 'acme', actor: 'test' }
const NOW = '2026-01-01T00:00:00.000Z'
const bytes = (hash: string, maxFeePerGas: bigint) => ({
  ...{ nonce: 7, hash, rawTransaction: '0x02', signedAt: NOW },
  fees: { gasLimit: 21_000n, maxFeePerGas, maxPriorityFeePerGas: 1n },
})
const BLOCK = { blockNumber: 7, blockHash: '0xb7', blockTimestamp: NOW, minedAt: NOW }
const MINED = { succeeded: true, logs: null, gasUsed: 21_000n, effectiveGasPrice: 2n }
const INCLUDE: TransactionCommand = { type: 'RecordInclusion', inclusion: { hash: '0x8', ...BLOCK, ...MINED } }
const SETTLE: TransactionCommand = { type: 'Settle', confirmations: 3, revertReason: '', now: NOW }

/** A transaction whose cancellation is signed, and an append of events that follow it as the follower sends them. */
async function withCancellation(t: Test) {
  const test = await withLog(t)
  const { log, pool } = test
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 18n })
  const id = newTransactionId()
  for (const command of [
    { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() },
    { type: 'RecordSignature', signed: bytes('0x7', 2n) },
    { type: 'RequestCancellation', now: NOW },
    { type: 'RecordReplacement', signed: bytes('0x8', 3n), purpose: 'cancel' },
  ] as const)
    await log.execute(transactionAggregate, id, command, { metadata: METADATA })
  const [follower, api] = await Promise.all([loginAs(t, test, 'follower'), loginAs(t, test, 'api')])
  const leases = createLeases({ pool: follower, holder: 'test', leaseMs: 60_000 })
  const lease = (await leases.acquire(`follow-${TEST_CHAIN}`)) ?? undefined
  t.after(() => lease?.release({ force: true }))
  /** What the decider decides, changed by the test. */
  const append = async (
    command: TransactionCommand,
    forge: (events: readonly TransactionEvent[]) => readonly TransactionEvent[] = (events) => events,
    columns: object = {},
    login: 'follower' | 'api' | 'follower without its lease' = 'follower',
  ) => {
    const loaded = await log.load(transactionAggregate, id)
    const decide = () => forge(transactionDecider.decide(command, loaded.state))
    const made = decideOn({ ...transactionAggregate, decide }, loaded, command, { metadata: METADATA, now: NOW })
    const guarded = login === 'follower' && lease !== undefined ? { guards: { fence: lease } } : {}
    const [guards, events, rows] = encodeBatch([{ decisions: made === null ? [] : [made], ...guarded }])
    const { transactions: [row] = [] } = JSON.parse(rows ?? '{}')
    const changed = JSON.stringify({ transactions: [{ ...row, ...columns }] })
    const pool: Pool = login === 'api' ? api : follower
    return pool.query('SELECT append_commits($1, $2, $3)', [guards, events, changed])
  }
  const state = async () => (await pool.query('SELECT state, status FROM transactions')).rows
  return { append, state }
}

const cancelled: TransactionEvent = { type: 'TransactionCancelled', data: { hash: '0x8', cancelledAt: NOW } }
const confirmed: TransactionEvent = {
  type: 'TransactionConfirmed',
  data: { blockNumber: 7, confirmations: 3, confirmedAt: NOW },
}
const withoutMark = (events: readonly TransactionEvent[]) =>
  events.map((event): TransactionEvent => {
    if (event.type !== 'TransactionMined') return event
    const { cancels: _, ...data } = event.data
    return { type: event.type, data }
  })

t.test('a block with a cancellation leads to cancelling, and what is told follows a later append', async (t: Test) => {
  const { append, state } = await withCancellation(t)
  await t.rejects(
    append(INCLUDE, (events) => [...events, cancelled]),
    REFUSED,
    'told with its block',
  )
  await t.rejects(
    append(INCLUDE, (events) => [...withoutMark(events), cancelled]),
    REFUSED,
    'as older versions told it',
  )
  await t.rejects(append(INCLUDE, undefined, { state: 'mined' }), REFUSED, 'a row that hides it')
  await t.rejects(append(INCLUDE, withoutMark, { state: 'cancelling' }), REFUSED, 'a row that claims it')
  await t.resolves(append(INCLUDE))
  t.strictSame(await state(), [{ state: 'cancelling', status: 'pending' }])
  await t.rejects(
    append(SETTLE, () => [confirmed]),
    REFUSED,
    'a cancellation is not confirmed',
  )
  await t.rejects(append(SETTLE, undefined, {}, 'api'), REFUSED, 'only who counts confirmations tells that it is final')
  await t.rejects(append(SETTLE, undefined, {}, 'follower without its lease'), REFUSED)
  await t.resolves(append(SETTLE))
  t.strictSame(await state(), [{ state: 'cancelled', status: 'cancelled' }])
})
