/** Transactions built from recorded events, and what a lane requests to sign for them. */
import '../../src/declarations.ts'
import { readFileSync } from 'node:fs'
import { upcast } from '../../src/event-log/aggregate.ts'
import type { UnsignedTransaction } from '../../src/keys/signer.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionEvent } from '../../src/transactions/all-events.ts'
import type { TransactionFacts } from '../../src/transactions/covers.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { newestAttempt, type TransactionState } from '../../src/transactions/state.ts'
import { type TagKeys, tagOf, withTag } from '../../src/transactions/tags.ts'
import { TAG_KEY } from './config.ts'

/** The newest schema version of an event, as recorded. */
export function golden<Type extends TransactionEvent['type']>(type: Type): Extract<TransactionEvent, { type: Type }> {
  const { version } = transactionAggregate.schemas[type]
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v${version}.json`, import.meta.url), 'utf8'))
  return upcast(transactionAggregate.schemas, type, file.schema_version, file.data)
}

export const fold = (events: readonly TransactionEvent[]): TransactionState =>
  events.reduce(transactionDecider.evolve, transactionDecider.initialState)

export const requested = golden('TransferRequested')
export const signed = golden('TransactionSigned')
export const replaced = golden('TransactionReplaced')
export const mined = golden('TransactionMined')
export const cancellation = golden('CancellationRequested')
export const consumed = golden('NonceConsumedExternally')
export const cancelling: TransactionEvent = { ...replaced, data: { ...replaced.data, purpose: 'cancel' } }

export const NONCE = signed.data.nonce

/** The transfer of the recorded intent, as the lane builds it. */
export const TRANSFER: UnsignedTransaction = {
  chainId: requested.data.chainId,
  nonce: NONCE,
  to: requested.data.to,
  value: requested.data.amount,
  data: '0x',
  gasLimit: 21_000n,
  // Not below what is recorded, also when a tag lowers it.
  maxFeePerGas: 20_000_065_536n,
  maxPriorityFeePerGas: 1_000_000_000n,
}

export const TAG_KEYS: TagKeys = [Buffer.from(TAG_KEY, 'base64')]

export const FACTS: TransactionFacts = {
  keys: TAG_KEYS,
  maxFeePerGasCap: 100_000_000_000n,
  dependency: null,
  signedNonces: [],
  now: '2026-11-21T12:00:00.000Z',
}

/** A recorded transaction under its id, as `coversTransaction` takes it. */
export const recordedAs = (state: TransactionState) => ({ id: 'tx_1', state })

/** The request with the tag of its transaction, as the lane signs it. */
export function tagged(state: TransactionState, transaction: UnsignedTransaction, id = 'tx_1'): UnsignedTransaction {
  if (state.state === 'unknown') return transaction
  const isCancelled = state.cancellationRequested || newestAttempt(state)?.purpose === 'cancel'
  return withTag(transaction, tagOf(TAG_KEYS, { id, transaction: state }, isCancelled ? 'cancel' : 'send'))
}
