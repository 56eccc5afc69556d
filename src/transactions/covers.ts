/**
 * Whether a recorded transaction covers what somebody asks a share to sign. Pure: the states come from the log, which the
 * holder of the share has read by itself.
 *
 * Invariant: of all that is covered for one transaction, as long as its nonce is not proven to be another's, at most one can
 * be mined, and it does what the owner asked for, or nothing at all.
 */
import { COVERED, type Coverage, notCovered, sameHex } from '../keys/coverage.ts'
import type { UnsignedTransaction } from '../keys/signer.ts'
import { buildCall, buildCancellation, type Call, PLAIN_TRANSFER_GAS } from './build-call.ts'
import { outcomeOf } from './dependency.ts'
import { mostFirstFee, mostGas, mostReplacementFee } from './spend-bounds.ts'
import { highestOffer, isUnmined, type KnownTransaction, newestAttempt, type TransactionState } from './state.ts'

/** EIP-7825: what a transaction may use at most. */
const MAX_GAS = 1n << 24n

export type AskedTransaction = {
  /** Of the key that is to sign, which is the sender. */
  readonly address: string
  readonly transaction: UnsignedTransaction
}

export type TransactionFacts = {
  /** The hard cap of the chain, wei for one unit of gas; what was reserved sets a lower one. */
  readonly maxFeePerGasCap: bigint
  /** The transaction that the intent depends on; `null` where it names none. */
  readonly dependency: TransactionState | null
  /**
   * Nonces under which the one who is asked has helped to sign this transaction before, by its own lasting memory. The log
   * does not tell of signatures that were made and never recorded: whoever collected one would have the transaction mined
   * twice by getting another under a second nonce.
   */
  readonly signedNonces: readonly number[]
  /** ISO 8601. */
  readonly now: string
}

export function coversTransaction(
  state: TransactionState,
  { address, transaction }: AskedTransaction,
  facts: TransactionFacts,
): Coverage {
  if (state.state === 'unknown') return notCovered('the log has no such transaction')
  if (!isUnmined(state)) return notCovered(`the transaction is ${state.state}: there is nothing left to sign`)
  const rule =
    (sameHex(address, state.intent.from) ? null : 'the sender is another than the recorded one') ??
    (transaction.chainId === state.intent.chainId ? null : 'the chain is another than the recorded one') ??
    brokenNonce(state, transaction.nonce) ??
    brokenFees(transaction, facts.maxFeePerGasCap) ??
    brokenCall(state, transaction, facts) ??
    brokenBounds(state, transaction)
  if (rule !== null) return notCovered(rule)
  const signedNonce = otherNonce(state, transaction.nonce, facts)
  if (signedNonce === undefined) return COVERED
  return {
    covered: false,
    rule: `the transaction was signed under nonce ${signedNonce}, which may still be mined`,
    signedNonce,
  }
}

/** One nonce for one transaction, until a final block has proven that another transaction has taken it. */
function brokenNonce({ attempts, abandoned }: KnownTransaction, nonce: unknown): string | null {
  if (!Number.isSafeInteger(nonce) || (nonce as number) < 0) return 'the nonce is no whole number'
  if (attempts.some((attempt) => attempt.nonce !== nonce)) return 'the nonce is another than the recorded one'
  return abandoned.some((attempt) => attempt.nonce === nonce) ? 'the nonce was taken by another transaction' : null
}

/** A nonce under which the transaction was signed as well, and which is not proven to be lost. */
function otherNonce(
  { abandoned }: KnownTransaction,
  nonce: number,
  { signedNonces }: TransactionFacts,
): number | undefined {
  return signedNonces.find((signed) => signed !== nonce && abandoned.every((attempt) => attempt.nonce !== signed))
}

function brokenFees({ gasLimit, maxFeePerGas, maxPriorityFeePerGas }: UnsignedTransaction, cap: bigint): string | null {
  for (const amount of [gasLimit, maxFeePerGas, maxPriorityFeePerGas])
    if (typeof amount !== 'bigint' || amount < 0n) return 'a fee is no amount'
  if (gasLimit < PLAIN_TRANSFER_GAS || gasLimit > MAX_GAS) return 'the gas limit is none that a chain takes'
  if (maxFeePerGas > cap) return 'the fee is above the cap'
  return maxPriorityFeePerGas > maxFeePerGas ? 'the tip is above the fee' : null
}

/** Fees and gas stay within what was held back and, step by step, what replaced what. */
function brokenBounds(state: KnownTransaction, { gasLimit, maxFeePerGas }: UnsignedTransaction): string | null {
  const newest = newestAttempt(state)
  if (newest === null) {
    if (gasLimit > mostGas(state.intent)) return 'the gas limit is far above what was reserved'
    return maxFeePerGas > mostFirstFee(state.intent) ? 'the fee is far above what was reserved' : null
  }
  const offered = highestOffer(state)
  if (maxFeePerGas < BigInt(offered.maxFeePerGas)) return 'the fee is below that of the bytes that it replaces'
  if (maxFeePerGas > mostReplacementFee(offered)) return 'the fee is more than twice that of the bytes that it replaces'
  const isCancelled = state.cancellationRequested || newest.purpose === 'cancel'
  return isCancelled || gasLimit === BigInt(newest.fees.gasLimit)
    ? null
    : 'the gas limit is another than that of the bytes that it replaces'
}

function brokenCall(state: KnownTransaction, transaction: UnsignedTransaction, facts: TransactionFacts): string | null {
  const newest = newestAttempt(state)
  if (state.cancellationRequested || newest?.purpose === 'cancel') {
    if (newest === null) return 'the transaction is cancelled: there is nothing left to sign'
    if (!isCall(transaction, buildCancellation(state)))
      return 'the transaction is being cancelled, and this is no cancellation'
    return transaction.gasLimit === PLAIN_TRANSFER_GAS ? null : 'a cancellation needs no more gas than a plain transfer'
  }
  if (!isCall(transaction, buildCall(state))) return 'the call is not the one that was asked for'
  return newest === null ? brokenStart(state, facts) : null
}

/** What holds a transaction back until it is signed for the first time; under its nonce it goes on, come what may. */
function brokenStart({ intent }: KnownTransaction, { dependency, now }: TransactionFacts): string | null {
  const { validUntil, dependsOn } = intent
  if (validUntil !== null && validUntil <= now) return 'the time until which the transaction was valid is over'
  if (dependsOn === null) return null
  const { outcome } = outcomeOf(dependsOn, dependency ?? { state: 'unknown' })
  return outcome === 'succeeded' ? null : 'what the transaction depends on has not succeeded'
}

function isCall(asked: UnsignedTransaction, { to, value, data }: Call): boolean {
  return sameHex(asked.to, to) && asked.value === value && sameHex(asked.data, data)
}
