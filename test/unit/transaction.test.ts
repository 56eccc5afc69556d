/** The transitions of a transaction, its holds, and that its recorded events stay readable. */
import fc from 'fast-check'
import t from 'tap'
import { nativeAsset, tokenAsset } from '../../src/core/assets.ts'
import { BursarError } from '../../src/core/errors.ts'
import { decideOn, type Loaded } from '../../src/event-log/aggregate.ts'
import { holdsOf, transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import {
  InvalidTransition,
  MAX_FOREIGN_NONCES,
  type TransactionCommand,
  transactionDecider,
} from '../../src/transactions/decider.ts'
import type { Inclusion, SignedBytes } from '../../src/transactions/events.ts'
import { chooseFees } from '../../src/transactions/examine-waiting.ts'
import type { TransactionState } from '../../src/transactions/state.ts'
import { givenOf } from '../support/given.ts'
import {
  cancellation,
  cancelling,
  consumed,
  fold,
  golden,
  mined,
  replaced,
  requested,
  signed,
} from '../support/recorded-transactions.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:01:00.000Z'

const submitted = golden('TransactionSubmitted')
const confirmed = golden('TransactionConfirmed')
const failed = golden('TransactionFailed')

const given = givenOf(transactionDecider)

const bytes: SignedBytes = signed.data
const dearer: SignedBytes = replaced.data
const intent = requested.data
const recordSignature: TransactionCommand = { type: 'RecordSignature', signed: bytes }
const recordSubmission: TransactionCommand = { type: 'RecordSubmission', hash: bytes.hash, now: NOW }
const include = (overrides: Partial<Inclusion> = {}): TransactionCommand => ({
  type: 'RecordInclusion',
  inclusion: { ...mined.data, ...overrides },
})
const settle: TransactionCommand = { type: 'Settle', confirmations: 32, revertReason: 'why', now: NOW }
const cancel: TransactionCommand = { type: 'RequestCancellation', now: NOW }
const reorg: TransactionCommand = { type: 'RecordReorg', head: 133, now: LATER }
const speedUp: TransactionCommand = { type: 'RequestSpeedUp', gasPriority: 'high', now: NOW }
const takenBy = { hash: '0xf', blockNumber: 98 }
const foreignNonce: TransactionCommand = { type: 'RecordForeignNonce', nonce: 7, finalizedBlock: 99, takenBy, now: NOW }

/** The events of these commands. */
const signedNow: TransactionEvent = { type: 'TransactionSigned', data: { ...signed.data, quote: null } }
const { hash, blockNumber, blockHash } = mined.data
const settled = { blockNumber, confirmations: 32 }
const submittedNow: TransactionEvent = { type: 'TransactionSubmitted', data: { hash, submittedAt: NOW } }
const confirmedNow: TransactionEvent = { type: 'TransactionConfirmed', data: { ...settled, confirmedAt: NOW } }
const reorgedAt = (reorgedAt: string): TransactionEvent => ({
  type: 'TransactionReorged',
  data: { hash, blockNumber, blockHash, reorgedAt },
})
const cancellationNow: TransactionEvent = { type: 'CancellationRequested', data: { requestedAt: NOW } }
const cancelledNow: TransactionEvent = { type: 'TransactionCancelled', data: { hash: null, cancelledAt: NOW } }
const consumedNow: TransactionEvent = {
  type: 'NonceConsumedExternally',
  data: { nonce: 7, finalizedBlock: 99, takenBy, foundAt: NOW },
}

t.test('a request is signed, sent, mined and confirmed', async (test) => {
  given().when({ type: 'RequestTransaction', opening: 'TransferRequested', intent }).expect(test, requested)
  given(requested).when(recordSignature).expect(test, signedNow)
  given(requested, signed).when(recordSubmission).expect(test, submittedNow)
  given(requested, signed, submitted).when(include()).expect(test, mined)
  given(requested, signed, submitted, mined).when(settle).expect(test, confirmedNow)
})

t.test('an outcome recorded twice changes nothing', async (test) => {
  given(requested, signed, submitted).when(recordSubmission).expect(test)
  given(requested, signed, submitted, mined).when(include()).expect(test)
  given(requested, signed, submitted, mined, confirmed).when(settle).expect(test)
  given(requested, signed, submitted, mined, confirmed).when(include()).expect(test)
  given(requested, signed, cancellation).when(cancel).expect(test)
})

t.test('a transaction is never signed twice under its first signature', async (test) => {
  given(requested, signed).when(recordSignature).fails(test, 'invalid_transition')
  given(requested, failed).when(recordSignature).fails(test, 'invalid_transition')
})

t.test('a block may be seen before the answer of the node', async (test) => {
  given(requested, signed).when(include()).expect(test, mined)
  given(requested, signed, mined).when(recordSubmission).expect(test)
})

t.test('a node that misses funds for bytes whose nonce was lost meanwhile holds nothing up', async (test) => {
  given(requested, signed, consumedNow).when({ type: 'RecordShortFunds', hash, now: NOW }).expect(test)
})

t.test('a failed execution is reported as reverted once it is final', async (test) => {
  const reverted: TransactionEvent = { ...mined, data: { ...mined.data, succeeded: false } }
  given(requested, signed, submitted, reverted)
    .when(settle)
    .expect(test, { type: 'TransactionReverted', data: { ...settled, reason: 'why', revertedAt: NOW } })
})

t.test('an older version that is mined counts as much as the newest', async (test) => {
  given(requested, signed, submitted, replaced).when(include()).expect(test, mined)
  given(requested, signed, submitted, replaced).when(recordSubmission).expect(test)
  given(requested, signed, submitted, replaced)
    .when({ ...recordSubmission, hash: replaced.data.hash } as TransactionCommand)
    .expect(test, { type: 'TransactionSubmitted', data: { hash: replaced.data.hash, submittedAt: NOW } })
})

t.test('bytes that were never signed cannot be mined', async (test) => {
  given(requested, signed)
    .when(include({ hash: `0x${'99'.repeat(32)}` }))
    .fails(test, 'invalid_transition')
})

t.test('a reorg undoes the block, and the next block is counted again', async (test) => {
  given(requested, signed, submitted, mined).when(reorg).expect(test, reorgedAt(LATER))
  given(requested, signed, submitted).when(reorg).expect(test)
  const elsewhere = { blockHash: `0x${'22'.repeat(32)}` }
  given(requested, signed, submitted, mined)
    .when(include(elsewhere))
    .expect(test, reorgedAt(mined.data.minedAt), { ...mined, data: { ...mined.data, ...elsewhere } })
})

t.test('a reported outcome that no longer holds is reported as revoked, with its depth', async (test) => {
  const cancelled = golden('TransactionCancelled')
  const reverted = golden('TransactionReverted')
  for (const [outcome, event] of [
    ['confirmed', confirmed],
    ['cancelled', cancelled],
    ['reverted', reverted],
  ] as const) {
    const told = [requested, signed, submitted, mined, event]
    const revoked: TransactionEvent = {
      type: 'SettlementRevoked',
      data: { outcome, hash, blockNumber, blockHash, confirmations: 34, revokedAt: LATER },
    }
    given(...told)
      .when(reorg)
      .expect(test, revoked)
    const after = fold([...told, revoked])
    test.hasStrict(after, { state: 'reorged', inclusion: null, failure: null })
    test.hasStrict(after.state !== 'unknown' && after.history.at(-1), {
      state: 'reorged',
      revoked: { state: outcome, confirmations: 34 },
    })
    test.ok(holdsOf(after).size > 0, 'the amount and the gas are reserved again')
  }
})

t.test('an old log that recorded a revoked outcome as a plain reorg is read unchanged', async (test) => {
  const reorged = golden('TransactionReorged')
  const state = fold([requested, signed, submitted, mined, confirmed, reorged])
  test.hasStrict(state.state !== 'unknown' && state.history.at(-1), { state: 'reorged', at: reorged.data.reorgedAt })
})

t.test('an unsigned transaction is cancelled at once, a signed one only by its nonce', async (test) => {
  given(requested).when(cancel).expect(test, cancellationNow, cancelledNow)
  given(requested, signed).when(cancel).expect(test, cancellationNow)
  given(requested, signed, submitted, cancellation, cancelling)
    .when(include({ hash: replaced.data.hash }))
    .expect(test, { ...mined, data: { ...mined.data, hash: replaced.data.hash, cancels: true } })
  given(requested, signed, submitted, cancellation, cancelling).when(include()).expect(test, mined)
})

t.test('a mined transaction is neither cancelled nor sped up', async (test) => {
  for (const command of [cancel, speedUp]) {
    given(requested, signed, submitted, mined).when(command).fails(test, 'already_mined')
    given(requested, signed, submitted, mined, confirmed).when(command).fails(test, 'already_mined')
    given(requested, failed).when(command).fails(test, 'already_failed')
  }
  given(requested, signed, cancellation).when(speedUp).fails(test, 'cancellation_requested')
})

t.test('a transaction whose nonce another program used gets a new one, a bounded number of times', async (test) => {
  given(requested, signed, submitted).when(foreignNonce).expect(test, consumedNow)
  given(requested, signed, submitted)
    .when({ ...foreignNonce, nonce: 8 } as TransactionCommand)
    .expect(test)
  given(requested, signed, submitted, cancellation).when(foreignNonce).expect(test, consumedNow, cancelledNow)
  given(requested, signed, submitted, consumed).when(recordSignature).expect(test, signedNow)
  const again = (nonce: number): TransactionEvent[] => [
    { ...signed, data: { ...signed.data, nonce } },
    { ...consumed, data: { ...consumed.data, nonce } },
  ]
  const lost = Array.from({ length: MAX_FOREIGN_NONCES - 1 }, (_, index) => again(index)).flat()
  const message =
    'Another program sent from this address and used the nonce of this transaction 3 times: make sure that only Bursar sends from it.'
  given(requested, ...lost, signed)
    .when(foreignNonce)
    .expect(test, consumedNow, {
      type: 'TransactionFailed',
      data: { code: 'nonce_conflict_external', message, failedAt: NOW },
    })
})

t.test('the amount and the highest gas cost are reserved until the transaction is in a block', async (test) => {
  const native = nativeAsset('ethereum', 1).assetId
  const eth = 10n ** 18n
  test.equal(holdsOf(fold([requested])).get(native), eth + 21_000n * 20_000_000_000n)
  test.equal(holdsOf(fold([requested, signed, replaced])).get(native), eth + 21_000n * 22_500_000_000n)
  for (const end of [[signed, mined], [failed]]) test.equal(holdsOf(fold([requested, ...end])).size, 0)
  const reorged = golden('TransactionReorged')
  test.equal(holdsOf(fold([requested, signed, mined, reorged])).get(native), eth + 21_000n * 20_000_000_000n)
  const token = tokenAsset(1, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USDC', 6)
  const ofToken: TransactionEvent = {
    ...requested,
    data: { ...intent, asset: token, amount: 5n },
  }
  test.same(
    [...holdsOf(fold([ofToken]))],
    [
      [native, 21_000n * 20_000_000_000n],
      [token.assetId, 5n],
    ],
  )
})

t.test('the reserved price is signed while it outlives one rise of the base fee', async (test) => {
  const level = { maxFeePerGas: 30n, maxPriorityFeePerGas: 2n }
  const quote = { baseFeePerGas: 16n, low: level, medium: level, high: level }
  test.equal(chooseFees(quote, 'medium', { maxFeePerGas: 20n }, 21_000n).maxFeePerGas, 20n)
  test.equal(chooseFees(quote, 'medium', { maxFeePerGas: 19n }, 21_000n).maxFeePerGas, 30n)
})

t.test('no sequence of commands makes an unknown error, loses an attempt, or holds a negative amount', async () => {
  const commands = fc.constantFrom<TransactionCommand>(
    recordSignature,
    recordSubmission,
    include(),
    include({ blockHash: '0x2' }),
    include({ hash: dearer.hash }),
    settle,
    cancel,
    speedUp,
    foreignNonce,
    reorg,
    { type: 'RecordShortFunds', hash: bytes.hash, now: NOW },
    { type: 'RecordReplacement', signed: dearer, purpose: 'bump' },
    { type: 'RecordReplacement', signed: dearer, purpose: 'cancel' },
    { type: 'FailUnsigned', code: 'expired', message: '', now: NOW },
  )
  const context = { metadata: { tenantId: 'acme', actor: 'test' }, now: NOW }
  fc.assert(
    fc.property(fc.array(commands, { maxLength: 30 }), (sequence) => {
      const unknown = { id: 'tx_1', state: transactionAggregate.initialState, version: 0, hash: '' }
      const opened = decideOn(
        transactionAggregate,
        unknown,
        { type: 'RequestTransaction', opening: 'TransferRequested', intent },
        context,
      )
      if (opened === null) return false
      let loaded: Loaded<TransactionState> = opened.after
      let held = new Map(holdsOf(loaded.state))
      for (const command of sequence) {
        try {
          const made = decideOn(transactionAggregate, loaded, command, context)
          if (made === null) continue
          for (const { assetId, delta } of made.readModels.holds) held.set(assetId, (held.get(assetId) ?? 0n) + delta)
          loaded = made.after
        } catch (error) {
          if (!(error instanceof BursarError)) throw error
        }
        const expected = holdsOf(loaded.state)
        held = new Map([...held].filter(([, amount]) => amount !== 0n))
        if (held.size !== expected.size || [...expected].some(([assetId, amount]) => held.get(assetId) !== amount))
          return false
      }
      return true
    }),
  )
})

t.test('a command that does not fit the state is a defect', async (test) => {
  test.throws(
    () => transactionDecider.decide(recordSubmission, fold([])),
    new InvalidTransition('RecordSubmission', 'unknown'),
  )
})
