/** Cancel and speed-up requests when outcomes are reported, and what a wallet can pay for them. */
import t from 'tap'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { createGasBudget } from '../../src/transactions/gas-budget.ts'
import { replacementLimit } from '../../src/transactions/replacement-limit.ts'
import { highestOffer, newestAttempt } from '../../src/transactions/state.ts'
import { givenOf } from '../support/given.ts'
import { cancellation, golden, mined, replaced, requested, signed } from '../support/recorded-transactions.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const given = givenOf(transactionDecider)

t.test('a transaction reported as confirmed can no longer be cancelled, on any branch', async (test) => {
  const offer = { gasLimit: 21_000n, maxFeePerGas: 23_000_000_000n, maxPriorityFeePerGas: 2_300_000_000n }
  const dearer: TransactionEvent = {
    ...replaced,
    data: { ...replaced.data, hash: '0xc', purpose: 'cancel', fees: offer },
  }
  const late = [
    requested,
    signed,
    golden('TransactionSubmitted'),
    cancellation,
    dearer,
    mined,
    golden('TransactionConfirmed'),
  ]
  const { hash, blockNumber, blockHash } = mined.data
  const revoked: TransactionEvent = {
    type: 'SettlementRevoked',
    data: { outcome: 'confirmed', hash, blockNumber, blockHash, confirmations: 34, revokedAt: NOW },
  }
  given(...late)
    .when({ type: 'RecordReorg', head: 133, now: NOW })
    .expect(test, revoked)
  const { state } = given(...late, revoked)
  if (state.state === 'unknown') throw new Error('the transaction is unknown')
  test.match(state, { state: 'reorged', cancellationRequested: false, speedUpRequested: null })
  test.equal(newestAttempt(state)?.hash, signed.data.hash, 'the payment is sent again instead of its cancellation')
  test.equal(highestOffer(state).maxFeePerGas, 23_000_000_000n, 'the fee of the new version exceeds the old one')
  const { state: again } = given(...late, revoked, cancellation)
  test.match(again, { cancellationRequested: true }, 'the transaction can be cancelled again')
})

t.test('a filler of a gap must fit as a request does, and the balance bounds its fees', async (test) => {
  const context = { id: 'tx_1', tenantId: 'acme', version: 1, recordedAt: NOW }
  const filler: TransactionEvent = { type: 'NonceFillRequested', data: requested.data }
  const unknown = transactionDecider.initialState
  const fits = (event: TransactionEvent) =>
    transactionAggregate.project(unknown, given(event).state, context).holds.map(({ mustFit }) => mustFit)
  test.strictSame([fits(requested), fits(filler)], [[true], [true]])
  const { state } = given(requested)
  if (state.state === 'unknown') throw new Error('the transaction is unknown')
  const { reserved: hold, amount } = requested.data
  const reserved = hold.gasLimit * hold.maxFeePerGas
  const budget = createGasBudget(1_000n)
  const payment = { value: amount }
  test.equal(budget.feeLimit(state, payment), reserved + 1_000n)
  test.equal(budget.feeLimit(state, { value: 0n }), reserved + 1_000n + payment.value, 'no amount is paid')
  budget.take(state, payment, { gasLimit: 1n, maxFeePerGas: reserved + 400n })
  test.equal(budget.feeLimit(state, payment), reserved + 600n, 'the next transaction cannot use the same funds')
  budget.take(state, { value: 0n }, { gasLimit: 1n, maxFeePerGas: reserved + payment.value })
  test.equal(budget.feeLimit(state, payment), reserved + 600n, 'the amount pays for the gas of a cancellation')
})

t.test('what a cancellation lacks is counted with the gas that it needs by the rules of the chain', async (test) => {
  const small = { ...requested, data: { ...requested.data, amount: 1n } } as TransactionEvent
  const { state } = given(small, signed, cancellation)
  if (state.state === 'unknown') throw new Error('the transaction is unknown')
  const limits = { capWei: 10n ** 12n, spareWei: 0n }
  const missing = (emptyGas: bigint) => {
    const limit = replacementLimit(state, { ...limits, emptyGas })
    return limit?.kind === 'funds' ? limit.missingWei : null
  }
  const needed = (highestOffer(state).maxFeePerGas * 9n) / 8n
  test.equal((missing(26_250n) ?? 0n) - (missing(21_000n) ?? 0n), 5_250n * needed)
})
