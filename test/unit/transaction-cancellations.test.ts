/** What is told of a cancellation: nothing until its block is final, and a revocation if a deeper reorg removes it. */
import t, { type Test } from 'tap'
import { holdsOf } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { historyProblem } from '../../src/transactions/check-recorded.ts'
import { type TransactionCommand, transactionDecider } from '../../src/transactions/decider.ts'
import { outcomeOf } from '../../src/transactions/dependency.ts'
import { readInclusion } from '../../src/transactions/read-events.ts'
import { type KnownTransaction, statusOf } from '../../src/transactions/state.ts'
import {
  cancellation,
  cancelling,
  fold,
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
  inclusion: { ...readInclusion(mined.data), blockHash: '0x2' },
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

function decides(test: Test, events: readonly TransactionEvent[], command: TransactionCommand, ...expected: unknown[]) {
  test.strictSame(transactionDecider.decide(command, fold(events)), expected)
}

t.test('a cancellation in a block is told when it has its confirmations, whatever its execution did', async (test) => {
  test.hasStrict(fold(inBlock), { state: 'cancelling' })
  test.equal(statusOf('cancelling'), 'pending')
  decides(test, inBlock, settle, told)
  decides(test, [...asked, { ...cancelMined, data: { ...cancelMined.data, succeeded: false } }], settle, told)
  test.hasStrict(fold([...inBlock, told]), { state: 'cancelled' })
})

t.test('a told cancellation whose block leaves is revoked', async (test) => {
  decides(test, [...inBlock, told], reorg, revoked)
})

t.test('a cancellation that leaves its block earlier was never told, and the payment may win', async (test) => {
  decides(test, inBlock, reorg, reorged())
  decides(test, [...inBlock, reorged()], includePayment, paid)
  decides(test, inBlock, includePayment, reorged(mined.data.minedAt), paid)
  const confirmed: TransactionEvent = { type: 'TransactionConfirmed', data: { ...settled, confirmedAt: NOW } }
  decides(test, [...inBlock, reorged(), paid], settle, confirmed)
  test.equal(historyProblem(fold([...inBlock, reorged(), paid, confirmed]) as KnownTransaction), null)
})

t.test('a cancellation in a block holds nothing, and is neither asked for again nor sped up', async (test) => {
  test.equal(holdsOf(fold(inBlock)).size, 0)
  decides(test, inBlock, cancel)
  test.throws(() => transactionDecider.decide(speedUp, fold(inBlock)), { code: 'cancellation_requested' })
})

t.test('what depends on a transaction waits until its cancellation is final', async (test) => {
  test.equal(outcomeOf('tx_1', fold(inBlock)).outcome, 'open')
  test.equal(outcomeOf('tx_1', fold([...inBlock, told])).outcome, 'failed')
})

t.test('an older log, which told a cancellation with its block, folds and is revoked as before', async (test) => {
  const withoutMark: TransactionEvent = { ...mined, data: { ...mined.data, hash } }
  const toldAtOnce: TransactionEvent = { type: 'TransactionCancelled', data: { hash, cancelledAt: NOW } }
  const state = fold([...asked, withoutMark, toldAtOnce]) as KnownTransaction
  test.strictSame(
    [...state.history.slice(-2).map((entry) => entry.state), state.state],
    ['mined', 'cancelled', 'cancelled'],
  )
  decides(test, [...asked, withoutMark, toldAtOnce], reorg, revoked)
})
