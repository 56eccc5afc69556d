/** What is told of a cancellation: nothing until its block is final, and a revocation if a deeper reorg removes it. */
import t from 'tap'
import { holdsOf } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { historyProblem } from '../../src/transactions/check-recorded.ts'
import { type TransactionCommand, transactionDecider } from '../../src/transactions/decider.ts'
import { outcomeOf } from '../../src/transactions/dependency.ts'
import { type KnownTransaction, statusOf } from '../../src/transactions/state.ts'
import { givenOf } from '../support/given.ts'
import {
  cancellation,
  cancelling,
  golden,
  mined,
  replaced,
  requested,
  signed,
} from '../support/recorded-transactions.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:01:00.000Z'

const settle: TransactionCommand = { type: 'Settle', confirmations: 32, revertReason: 'why', now: NOW }
const reorg: TransactionCommand = { type: 'RecordReorg', head: 133, now: LATER }
const cancel: TransactionCommand = { type: 'RequestCancellation', now: NOW }
const speedUp: TransactionCommand = { type: 'RequestSpeedUp', gasPriority: 'high', now: NOW }
const includePayment: TransactionCommand = {
  type: 'RecordInclusion',
  inclusion: { ...mined.data, blockHash: '0x2' },
}

const { hash } = replaced.data
const { blockNumber, blockHash } = mined.data
const settled = { blockNumber, confirmations: 32 }
const block = { hash, blockNumber, blockHash }

const asked = [requested, signed, golden('TransactionSubmitted'), cancellation, cancelling]
const cancelMined: TransactionEvent = { type: 'TransactionMined', data: { ...mined.data, hash, cancels: true } }
const inBlock = [...asked, cancelMined]
const paid: TransactionEvent = { ...mined, data: { ...mined.data, blockHash: '0x2' } }
const told: TransactionEvent = { type: 'TransactionCancelled', data: { hash, ...settled, cancelledAt: NOW } }
const revoked: TransactionEvent = {
  type: 'SettlementRevoked',
  data: { outcome: 'cancelled', ...block, confirmations: 34, revokedAt: LATER },
}
const reorged = (reorgedAt = LATER): TransactionEvent => ({ type: 'TransactionReorged', data: { ...block, reorgedAt } })

const given = givenOf(transactionDecider)

t.test('a cancellation in a block is told when it has its confirmations, whatever its execution did', async (test) => {
  test.hasStrict(given(...inBlock).state, { state: 'cancelling' })
  test.equal(statusOf('cancelling'), 'pending')
  given(...inBlock)
    .when(settle)
    .expect(test, told)
  given(...asked, { ...cancelMined, data: { ...cancelMined.data, succeeded: false } })
    .when(settle)
    .expect(test, told)
  test.hasStrict(given(...inBlock, told).state, { state: 'cancelled' })
})

t.test('a told cancellation whose block leaves is revoked', async (test) => {
  given(...inBlock, told)
    .when(reorg)
    .expect(test, revoked)
})

t.test('a cancellation that leaves its block earlier was never told, and the payment may win', async (test) => {
  given(...inBlock)
    .when(reorg)
    .expect(test, reorged())
  given(...inBlock, reorged())
    .when(includePayment)
    .expect(test, paid)
  given(...inBlock)
    .when(includePayment)
    .expect(test, reorged(mined.data.minedAt), paid)
  const confirmed: TransactionEvent = { type: 'TransactionConfirmed', data: { ...settled, confirmedAt: NOW } }
  given(...inBlock, reorged(), paid)
    .when(settle)
    .expect(test, confirmed)
  test.equal(historyProblem(given(...inBlock, reorged(), paid, confirmed).state as KnownTransaction), null)
})

t.test('a cancellation in a block holds nothing, and is neither asked for again nor sped up', async (test) => {
  test.equal(holdsOf(given(...inBlock).state).size, 0)
  given(...inBlock)
    .when(cancel)
    .expect(test)
  given(...inBlock)
    .when(speedUp)
    .fails(test, 'cancellation_requested')
})

t.test('what depends on a transaction waits until its cancellation is final', async (test) => {
  test.equal(outcomeOf('tx_1', given(...inBlock).state).outcome, 'open')
  test.equal(outcomeOf('tx_1', given(...inBlock, told).state).outcome, 'failed')
})

t.test('an older log, which told a cancellation with its block, folds and is revoked as before', async (test) => {
  const withoutMark: TransactionEvent = { ...mined, data: { ...mined.data, hash } }
  const toldAtOnce: TransactionEvent = { type: 'TransactionCancelled', data: { hash, cancelledAt: NOW } }
  const state = given(...asked, withoutMark, toldAtOnce).state as KnownTransaction
  test.strictSame(
    [...state.history.slice(-2).map((entry) => entry.state), state.state],
    ['mined', 'cancelled', 'cancelled'],
  )
  given(...asked, withoutMark, toldAtOnce)
    .when(reorg)
    .expect(test, revoked)
})
