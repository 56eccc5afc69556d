/**
 * The only place that interprets node errors. Clients assign codes differently (-32003 is a refused transaction on
 * anvil, a full response on geth, too little gas on besu), so messages are matched instead.
 */
import type { Interface } from 'ethers/abi'
import type { RpcFailure, RpcResult } from './json-rpc.ts'
import { type DecodedRevert, decodeRevert, findRevertData, readRevertMessage } from './revert-reason.ts'
import {
  BATCH_TOO_LARGE,
  EXECUTION_FAILED,
  isSaid,
  MISSING_STATE,
  OUT_OF_GAS,
  OVERLOADED,
  RATE_LIMITED,
  SUBMISSION_WORDINGS,
  UNSUPPORTED,
  WRONG_PARAMETER,
} from './rpc-wordings.ts'
import type { SubmissionOutcome } from './submission-outcome.ts'

export type Submission = {
  readonly outcome: SubmissionOutcome
  /** The node's message, for the log; empty when it took the transaction just now. */
  readonly message: string
}

/** Why a read or a simulation returned no value. */
export type CallFailure =
  | {
      readonly type: 'reverted'
      /** The reason string, the panic's meaning, or the custom error with its arguments or selector; or `null`. */
      readonly reason: string | null
      readonly decoded: DecodedRevert | null
      /** The raw revert data. */
      readonly data: string | null
    }
  | { readonly type: 'missing_state' | 'insufficient_funds' | 'unsupported'; readonly message: string }
  | { readonly type: 'unavailable' | 'unknown'; readonly message: string }

/** The HTTP status, which providers also use as the JSON-RPC code. */
const TOO_MANY_REQUESTS = 429

/** JSON-RPC 2.0. */
const METHOD_NOT_FOUND = -32601
const INTERNAL_ERROR = -32603
const INVALID_PARAMS = -32602

const SEND = 'eth_sendRawTransaction'

/** @param result the result of eth_sendRawTransaction */
export function classifySubmission(result: RpcResult): Submission {
  if (result.ok) return { outcome: 'accepted', message: '' }
  const { error } = result
  if (error.kind === 'unavailable') return { outcome: 'unavailable', message: error.message }
  const { message } = error
  const said = message.toLowerCase()
  const known = SUBMISSION_WORDINGS.find(([, wordings]) => isSaid(said, wordings))
  return { outcome: known?.[0] ?? (soundsUnavailable(error) ? 'unavailable' : 'unknown'), message }
}

/** Whether a node may accept the same bytes later, after time has passed or the state of the chain has changed. */
export function isRetryable(outcome: SubmissionOutcome): boolean {
  return outcome !== 'accepted' && outcome !== 'rejected' && outcome !== 'nonce_too_low'
}

/** @param errors ABIs of the called contracts, in addition to the known errors (known-errors.ts) */
export function classifyCallFailure(failure: RpcFailure, errors?: readonly Interface[]): CallFailure {
  if (failure.kind === 'unavailable') return { type: 'unavailable', message: failure.message }
  const { message } = failure
  const said = message.toLowerCase()
  const data = findRevertData(failure.data)
  // Some servers add an empty `0x` to errors that are unrelated to a contract.
  if ((data !== null && data !== '0x') || isSaid(said, EXECUTION_FAILED)) {
    const decoded = data === null ? null : decodeRevert(data, errors)
    return { type: 'reverted', reason: decoded?.text ?? describeUndecoded(data, message), decoded, data }
  }
  if (isSaid(said, MISSING_STATE)) return { type: 'missing_state', message }
  if (said.includes('insufficient funds')) return { type: 'insufficient_funds', message }
  if (isUnsupported(failure)) return { type: 'unsupported', message }
  return { type: soundsUnavailable(failure) ? 'unavailable' : 'unknown', message }
}

/** Undecoded data is more informative than a node's attempt to print it. */
function describeUndecoded(data: string | null, message: string): string | null {
  return data !== null && data.length >= 10 ? `unknown error ${data.slice(0, 10)}` : readRevertMessage(message)
}

/** Whether a call ran out of gas. */
export function ranOutOfGas(failure: RpcFailure): boolean {
  return failure.kind === 'answer' && isSaid(failure.message.toLowerCase(), OUT_OF_GAS)
}

/** Whether the node does not support the method. */
export function isUnsupported(failure: RpcFailure): boolean {
  if (failure.kind === 'unavailable') return false
  return failure.code === METHOD_NOT_FOUND || isSaid(failure.message.toLowerCase(), UNSUPPORTED)
}

/** Whether the node does not take a block by its hash (EIP-1898) as a parameter. */
export function isBlockHashRefused(failure: RpcFailure): boolean {
  if (failure.kind === 'unavailable') return false
  return failure.code === INVALID_PARAMS || isSaid(failure.message.toLowerCase(), WRONG_PARAMETER)
}

/** Whether the same requests may succeed in smaller batches. */
export function isBatchTooLarge(failure: RpcFailure): boolean {
  if (failure.kind === 'unavailable') return failure.reason === 'too_large'
  return isSaid(failure.message.toLowerCase(), BATCH_TOO_LARGE)
}

/**
 * Whether the node reported that it did not process the request. `rate_limited` requires a pause; `overloaded` may be
 * caused by this one request (a simulation that never ends) and does not predict the next.
 */
export function overloadOf(failure: RpcFailure, method: string): 'rate_limited' | 'overloaded' | null {
  if (failure.kind === 'unavailable') return null
  const meaning = method === SEND ? submissionOutcome(failure) : classifyCallFailure(failure).type
  if (meaning !== 'unavailable') return null
  return soundsRateLimited(failure) ? 'rate_limited' : 'overloaded'
}

/** Whether another node may succeed: this one did not answer, failed, or lacks the method or the state. */
export function isWorthAnotherNode(failure: RpcFailure, method: string): boolean {
  if (failure.kind === 'unavailable') return true
  if (method === SEND) {
    const outcome = submissionOutcome(failure)
    return ['unavailable', 'pool_full', 'node_limit', 'unknown'].includes(outcome)
  }
  const { type } = classifyCallFailure(failure)
  if (type === 'unknown') return failure.code === INTERNAL_ERROR
  return type === 'unavailable' || type === 'missing_state' || type === 'unsupported'
}

type Answer = Extract<RpcFailure, { kind: 'answer' }>

function submissionOutcome(failure: RpcFailure): SubmissionOutcome {
  return classifySubmission({ ok: false, error: failure }).outcome
}

function soundsUnavailable(failure: Answer): boolean {
  return soundsRateLimited(failure) || isSaid(failure.message.toLowerCase(), OVERLOADED)
}

function soundsRateLimited(failure: Answer): boolean {
  return failure.code === TOO_MANY_REQUESTS || isSaid(failure.message.toLowerCase(), RATE_LIMITED)
}
