/** How much more gas a share holder, who knows no fork, signs for a call that a fork has made dearer. */
import t from 'tap'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import { buildCall, unsigned } from '../../src/transactions/build-call.ts'
import { coversTransaction } from '../../src/transactions/covers.ts'
import { newestAttempt } from '../../src/transactions/state.ts'
import { tagOf, withTag } from '../../src/transactions/tags.ts'
import { fold, recordedAs, replaced, requested, signed, TAG_KEYS } from '../support/recorded-transactions.ts'

const FACTS = {
  maxFeePerGasCap: 500_000_000_000n,
  dependency: null,
  signedNonces: [],
  keys: TAG_KEYS,
  now: '2026-11-21T12:00:00.000Z',
}
const PRICE = 20_000_000_000n

/** @returns why it is not signed, or null */
function refusalOf(gasLimit: bigint, ...events: readonly TransactionEvent[]): string | null {
  const state = fold(events)
  if (state.state === 'unknown') throw new Error('the transaction is unknown')
  const { id } = recordedAs(state)
  const newest = newestAttempt(state)
  const maxFeePerGas = newest === null ? PRICE : (newest.fees.maxFeePerGas * 9n) / 8n
  const fees = withTag(
    { gasLimit, maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas },
    tagOf(TAG_KEYS, { id, transaction: state }, 'send'),
  )
  const transaction = unsigned(state.intent.chainId, newest?.nonce ?? 7, buildCall(state.intent), fees)
  const coverage = coversTransaction({ id, state }, { address: state.intent.from, transaction }, FACTS)
  return coverage.covered ? null : coverage.rule
}

t.test('a call that the service encodes may cost eight times what it reserved, and no call of a client', (t) => {
  const reserved = { gasLimit: 120_000n, maxFeePerGas: 20_000_000_000n }
  const mint = { ...requested, data: { ...requested.data, data: '0x12345678', reserved } } as TransactionEvent
  t.equal(refusalOf(960_000n, mint), null)
  t.match(refusalOf(960_001n, mint), /gas limit is far above/)
  const call = { ...mint, data: { ...mint.data, call: { errors: [] } } } as unknown as TransactionEvent
  t.equal(refusalOf(320_000n, call), null)
  t.match(refusalOf(320_001n, call), /gas limit is far above/)
  t.end()
})

t.test('a replacement may have more gas than what it replaces, within the bound of a first signature', (t) => {
  t.equal(refusalOf(21_000n, requested, signed, replaced), null)
  t.equal(refusalOf(221_000n, requested, signed, replaced), null)
  t.match(refusalOf(221_001n, requested, signed, replaced), /gas limit is far above/)
  t.match(refusalOf(20_999n, requested, signed, replaced), /gas limit is lower/)
  t.end()
})
