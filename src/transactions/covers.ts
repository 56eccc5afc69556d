/**
 * Whether a recorded transaction covers a request to a share holder. Pure: the holder has read the states from the log
 * itself, and has proven that the recorded bytes are signatures of the wallet.
 *
 * Invariant: of everything covered for one transaction, as long as its nonce is not proven lost, at most one can be
 * mined, and it does what the owner requested, or nothing.
 */
import { GAS_BOUNDS } from '../chain/forks.ts'
import { COVERED, type Coverage, notCovered, sameHex } from '../keys/coverage.ts'
import type { UnsignedTransaction } from '../keys/signer.ts'
import { buildCall, buildCancellation, type Call } from './build-call.ts'
import { outcomeOf } from './dependency.ts'
import { mostFirstFee, mostGas, mostReplacementFee } from './spend-bounds.ts'
import { highestOffer, isUnmined, type KnownTransaction, newestAttempt, type TransactionState } from './state.ts'
import { readTag, type TagKeys, tagsOf } from './tags.ts'

export type AskedTransaction = {
  /** The address of the signing key, which is the sender. */
  readonly address: string
  readonly transaction: UnsignedTransaction
}

export type TransactionFacts = {
  /** The hard cap of the chain, wei per gas; the reserved amount sets a lower one. */
  readonly maxFeePerGasCap: bigint
  /** The transaction that the intent depends on; `null` if none. */
  readonly dependency: TransactionState | null
  /**
   * Nonces with which this holder has already helped to sign the transaction, from its own durable journal. The log
   * does not show signatures that were never recorded: someone who collected one could have the transaction mined twice
   * by getting another with a second nonce.
   */
  readonly signedNonces: readonly number[]
  readonly keys: TagKeys
  /** ISO 8601. */
  readonly now: string
}

const TOO_MUCH_FOR_NOTHING = `what moves nothing must not use more than ${GAS_BOUNDS.empty} gas`

export function coversTransaction(
  { id, state }: { readonly id: string; readonly state: TransactionState },
  { address, transaction }: AskedTransaction,
  facts: TransactionFacts,
): Coverage {
  if (state.state === 'unknown') return notCovered('the log has no such transaction')
  if (!isUnmined(state)) return notCovered(`the transaction is ${state.state}: there is nothing left to sign`)
  const rule =
    (sameHex(address, state.intent.from) ? null : 'the sender differs from the recorded one') ??
    (transaction.chainId === state.intent.chainId ? null : 'the chain differs from the recorded one') ??
    brokenNonce(state, transaction.nonce) ??
    brokenFees(transaction, facts.maxFeePerGasCap) ??
    brokenCall(state, transaction, facts) ??
    brokenBounds(state, transaction) ??
    brokenTag(id, state, transaction, facts)
  if (rule !== null) return notCovered(rule)
  const signedNonce = otherNonce(state, transaction.nonce, facts)
  if (signedNonce === undefined) return COVERED
  return {
    covered: false,
    rule: `the transaction was signed under nonce ${signedNonce}, which may still be mined`,
    signedNonce,
  }
}

/** One nonce for one transaction, until a final block proves that another transaction used it. */
function brokenNonce({ attempts, abandoned }: KnownTransaction, nonce: unknown): string | null {
  if (!Number.isSafeInteger(nonce) || (nonce as number) < 0) return 'the nonce is not a whole number'
  if (attempts.some((attempt) => attempt.nonce !== nonce)) return 'the nonce differs from the recorded one'
  return abandoned.some((attempt) => attempt.nonce === nonce) ? 'another transaction used the nonce' : null
}

/** Another nonce with which the transaction was signed and which is not proven lost. */
function otherNonce(
  { abandoned }: KnownTransaction,
  nonce: number,
  { signedNonces }: TransactionFacts,
): number | undefined {
  return signedNonces.find((signed) => signed !== nonce && abandoned.every((attempt) => attempt.nonce !== signed))
}

function brokenFees({ gasLimit, maxFeePerGas, maxPriorityFeePerGas }: UnsignedTransaction, cap: bigint): string | null {
  for (const amount of [gasLimit, maxFeePerGas, maxPriorityFeePerGas])
    if (typeof amount !== 'bigint' || amount < 0n) return 'a fee is not a valid amount'
  if (gasLimit === 0n) return 'the gas limit is outside the range that a chain accepts'
  if (maxFeePerGas > cap) return 'the fee is above the cap'
  return maxPriorityFeePerGas > maxFeePerGas ? 'the tip is above the fee' : null
}

/** Fees and gas must stay within the reserved amount and, step by step, within the limits of replacements. */
function brokenBounds(state: KnownTransaction, { gasLimit, maxFeePerGas }: UnsignedTransaction): string | null {
  const newest = newestAttempt(state)
  if (newest === null) {
    if (gasLimit > mostGas(state.intent)) return 'the gas limit is far above what was reserved'
    if (state.type === 'NONCE_FILL' && gasLimit > GAS_BOUNDS.empty) return TOO_MUCH_FOR_NOTHING
    return maxFeePerGas > mostFirstFee(state.intent) ? 'the fee is far above what was reserved' : null
  }
  const offered = highestOffer(state)
  if (maxFeePerGas < offered.maxFeePerGas) return 'the fee is lower than that of the version that it replaces'
  if (maxFeePerGas > mostReplacementFee(offered))
    return 'the fee is more than twice that of the version that it replaces'
  const isCancelled = state.cancellationRequested || newest.purpose === 'cancel'
  if (isCancelled || gasLimit === newest.fees.gasLimit) return null
  if (gasLimit < newest.fees.gasLimit) return 'the gas limit is lower than that of the version that it replaces'
  // A fork may have come since: the bounds of a first signature are those of all.
  return gasLimit > mostGas(state.intent) ? 'the gas limit is far above what was reserved' : null
}

function brokenCall(state: KnownTransaction, transaction: UnsignedTransaction, facts: TransactionFacts): string | null {
  const newest = newestAttempt(state)
  if (state.cancellationRequested || newest?.purpose === 'cancel') {
    if (newest === null) return 'the transaction is cancelled: there is nothing left to sign'
    if (!isCall(transaction, buildCancellation(state.intent)))
      return 'the transaction is being cancelled, but this is not a cancellation'
    return transaction.gasLimit <= GAS_BOUNDS.empty ? null : TOO_MUCH_FOR_NOTHING
  }
  if (!isCall(transaction, buildCall(state.intent))) return 'the call differs from the requested one'
  return newest === null ? brokenStart(state, facts) : null
}

/** Conditions that delay the first signature; with its nonce assigned, the transaction continues regardless. */
function brokenStart({ intent }: KnownTransaction, { dependency, now }: TransactionFacts): string | null {
  const { validUntil, dependsOn } = intent
  if (validUntil !== null && validUntil <= now) return 'the transaction has expired'
  if (dependsOn === null) return null
  const { outcome } = outcomeOf(dependsOn, dependency ?? { state: 'unknown' })
  return outcome === 'succeeded' ? null : 'the transaction that it depends on has not succeeded'
}

/** Bytes without the tag of their request would not be recognised if the database forgot them. */
function brokenTag(
  id: string,
  state: KnownTransaction,
  asked: UnsignedTransaction,
  { keys }: TransactionFacts,
): string | null {
  const purpose = state.cancellationRequested || newestAttempt(state)?.purpose === 'cancel' ? 'cancel' : 'send'
  return tagsOf(keys, { id, transaction: state }, purpose).includes(readTag(asked))
    ? null
    : 'the fees do not have the tag of the request: signers and parties need the same TRANSACTION_TAG_KEY'
}

function isCall(asked: UnsignedTransaction, { to, value, data }: Call): boolean {
  return sameHex(asked.to, to) && asked.value === value && sameHex(asked.data, data)
}
