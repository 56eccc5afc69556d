/**
 * One RPC URL: verified to serve the right chain before any other request, skipped while it is failing, and called with
 * batches as large as it accepts.
 */
import { type Circuit, createCircuit } from './circuit.ts'
import { readCount } from './hex.ts'
import {
  decodeResults,
  encodeRequests,
  type RpcFailure,
  type RpcRequest,
  type RpcResult,
  resultValue,
  unavailable,
} from './json-rpc.ts'
import { isBatchTooLarge, overloadOf } from './rpc-errors.ts'
import { createHttpTransport, type HttpTransport } from './rpc-transport.ts'

/**
 * A server of another chain is a configuration error that may be corrected behind the same URL, or one bad back end of
 * many. A chain with a single URL stops meanwhile, so it is checked as often as a server that is down.
 */
const WRONG_CHAIN_RECHECK_MS = 5_000

/** Then it is looked at again; until then the others are asked first. */
const DOUBTED_MS = 300_000

/** Compatible with pino. */
export type RpcLog = {
  readonly info: (fields: Record<string, unknown>, message: string) => void
  readonly warn: (fields: Record<string, unknown>, message: string) => void
  readonly error: (fields: Record<string, unknown>, message: string) => void
}

/** One HTTP exchange, for metrics. */
export type RpcObservation = {
  /** The method, or `batch` for different methods in one exchange. */
  readonly method: string
  readonly requests: number
  /** Index of the URL in the configuration: URLs may contain keys and are not used in metrics. */
  readonly endpoint: number
  readonly ms: number
  readonly outcome: 'ok' | 'error' | 'unavailable'
}

export type EndpointHealth = {
  readonly endpoint: number
  /** Host and port without the path, which may contain a key. */
  readonly host: string
  readonly state: 'unverified' | 'ready' | 'failing' | 'open' | 'wrong_chain'
  readonly failures: number
  /** As of the last probe; `null` before the first. */
  readonly head: number | null
  readonly lagging: boolean
}

export type Endpoint = {
  readonly index: number
  /** Whether a request may go to this URL now: right chain and circuit closed. Verifies the chain when necessary. */
  readonly isUsable: () => Promise<boolean>
  /** One HTTP exchange for the whole batch; halves the batch when the server reports that it is too large. */
  readonly exchange: (requests: readonly RpcRequest[]) => Promise<RpcResult[]>
  /** Reads chain id and head. */
  readonly probe: () => Promise<number | null>
  readonly batchLimit: () => number
  readonly failures: () => number
  readonly health: () => EndpointHealth
  readonly setLagging: (lagging: boolean) => void
  readonly isLagging: () => boolean
  /** It is asked last for a while: another one shows that what it says of its blocks is wrong, or it shows too few. */
  readonly doubt: () => void
  readonly isDoubted: () => boolean
  readonly close: () => void
}

type Unavailability = Extract<RpcFailure, { kind: 'unavailable' }>

type State = {
  verified: boolean
  wrongUntil: number
  verifying: Promise<boolean> | null
  head: number | null
  lagging: boolean
  doubtedUntil: number
  batchLimit: number
}

type Context = {
  readonly options: Parameters<typeof createEndpoint>[0]
  readonly host: string
  readonly transport: HttpTransport
  readonly circuit: Circuit
  readonly state: State
}

export function createEndpoint(options: {
  readonly url: string
  readonly index: number
  readonly chainId: number
  readonly timeoutMs: number
  readonly maxBatchSize: number
  /** Maximum bytes of one response; by default the transport's limit. */
  readonly maxResponseBytes?: number | undefined
  /** Whether a timeout counts against the server. Not for reads in which third-party code determines the duration. */
  readonly blamesTimeouts: boolean
  /** Its chain is checked only if it answers `eth_chainId`, and its head is not read. */
  readonly onlySends: boolean
  readonly now: () => number
  readonly log: RpcLog
  readonly onExchange: (observation: RpcObservation) => void
}): Endpoint {
  const { url, timeoutMs, maxResponseBytes, now } = options
  const state: State = {
    verified: false,
    wrongUntil: Number.NEGATIVE_INFINITY,
    verifying: null,
    head: null,
    lagging: false,
    doubtedUntil: Number.NEGATIVE_INFINITY,
    batchLimit: options.maxBatchSize,
  }
  const host = new URL(url).host
  const context = {
    options,
    host,
    transport: createHttpTransport({ url, timeoutMs, maxResponseBytes }),
    circuit: createCircuit(now),
    state,
  }
  return {
    index: options.index,
    isUsable: () => isUsable(context),
    exchange: (requests) => exchange(context, requests),
    probe: () => probe(context),
    batchLimit: () => state.batchLimit,
    failures: () => context.circuit.failures(),
    health: () => describe(context),
    setLagging: (lagging) => {
      state.lagging = lagging
    },
    isLagging: () => state.lagging,
    doubt() {
      state.doubtedUntil = options.now() + DOUBTED_MS
      options.log.warn({ endpoint: options.index, host }, 'RPC URL shows wrong or too few blocks: it is asked last')
    },
    isDoubted: () => options.now() < state.doubtedUntil,
    close: () => context.transport.close(),
  }
}

async function isUsable(context: Context): Promise<boolean> {
  const { state, options, circuit } = context
  if (options.now() < state.wrongUntil) return false
  if (state.verified) return circuit.admit()
  state.verifying ??= (circuit.admit() ? probe(context) : Promise.resolve(null))
    .then(() => state.verified)
    .finally(() => {
      state.verifying = null
    })
  return state.verifying
}

async function probe(context: Context): Promise<number | null> {
  const { state, options, host } = context
  const startedAt = options.now()
  const methods = options.onlySends ? ['eth_chainId'] : ['eth_chainId', 'eth_blockNumber']
  const answers = await post(
    context,
    methods.map((method) => ({ method, params: [] })),
  )
  const [chainId = null, head = null] = answers.map(tryCount)
  const refusal = answers.find((answer) => !answer.ok)
  if (chainId === null || (head === null && !options.onlySends)) {
    state.verified = options.onlySends && refusal?.ok === false && refusal.error.kind === 'answer'
    if (state.verified) return null
    if (refusal?.ok === false && refusal.error.kind === 'answer') fail(context, startedAt, refusal.error.message)
    return null
  }
  state.head = head
  if (chainId === options.chainId) {
    state.verified = true
    state.wrongUntil = Number.NEGATIVE_INFINITY
    return head
  }
  state.verified = false
  const isKnown = state.wrongUntil > Number.NEGATIVE_INFINITY
  state.wrongUntil = options.now() + WRONG_CHAIN_RECHECK_MS
  if (isKnown) return null
  options.log.error(
    { endpoint: options.index, host, expected_chain_id: options.chainId, chain_id: chainId },
    'RPC URL serves another chain and is not used; correct the configuration',
  )
  return null
}

function tryCount(result: RpcResult): number | null {
  try {
    return readCount(resultValue(result, 'a probe'), 'a probe')
  } catch {
    // Neither a chain id nor a head: the caller treats it as no answer.
    return null
  }
}

async function exchange(context: Context, requests: readonly RpcRequest[]): Promise<RpcResult[]> {
  const results = await post(context, requests)
  if (requests.length === 1 || !isTooLarge(results)) return results
  const half = Math.ceil(requests.length / 2)
  context.state.batchLimit = Math.min(context.state.batchLimit, half)
  const first = await exchange(context, requests.slice(0, half))
  return [...first, ...(await exchange(context, requests.slice(half)))]
}

/** One request reports it, or one error covers all of them: whatever the message, a part of the batch may succeed. */
function isTooLarge(results: readonly RpcResult[]): boolean {
  if (results.some((result) => !result.ok && isBatchTooLarge(result.error))) return true
  const [first] = results
  return first?.ok === false && first.error.kind === 'answer' && results.every((result) => result === first)
}

async function post(context: Context, requests: readonly RpcRequest[]): Promise<RpcResult[]> {
  const { options, state } = context
  const startedAt = options.now()
  const reply = await context.transport.post(encodeRequests(requests))
  const results = reply.ok
    ? decodeResults(reply.text, requests.length).map((result, i) => heard(result, requests[i]?.method ?? ''))
    : requests.map((): RpcResult => ({ ok: false, error: reply.error }))
  // No third-party code runs before the server has passed the chain check.
  const blames = options.blamesTimeouts || !state.verified
  const failure = results.map((result) => breakdown(result, blames)).find((found) => found !== null)
  const broken = failure !== undefined
  if (broken) {
    // Another node may answer at this URL next.
    if (failure.reason === 'network') state.verified = false
    fail(context, startedAt, failure.message, reply.ok ? 0 : reply.retryAfterMs)
  } else succeed(context, requests.length)
  observe(context, requests, startedAt, broken ? 'unavailable' : results.every((result) => result.ok) ? 'ok' : 'error')
  return results
}

/** A server that only reports that it did not process a request counts as unavailable. */
function heard(result: RpcResult, method: string): RpcResult {
  const reason = result.ok ? null : overloadOf(result.error, method)
  return result.ok || reason === null ? result : { ok: false, error: unavailable(reason, result.error.message) }
}

/** Failures that count against the server as a whole. */
function breakdown(result: RpcResult, blamesTimeouts: boolean): Unavailability | null {
  if (result.ok || result.error.kind === 'answer') return null
  const { reason } = result.error
  if (reason === 'too_large' || reason === 'overloaded') return null
  return reason === 'timeout' && !blamesTimeouts ? null : result.error
}

function observe(
  { options }: Context,
  requests: readonly RpcRequest[],
  startedAt: number,
  outcome: RpcObservation['outcome'],
): void {
  const method = requests[0]?.method ?? ''
  options.onExchange({
    method: requests.every((request) => request.method === method) ? method : 'batch',
    requests: requests.length,
    endpoint: options.index,
    ms: options.now() - startedAt,
    outcome,
  })
}

function succeed({ options, circuit, host, state }: Context, requests: number): void {
  if (circuit.failures() > 0) options.log.info({ endpoint: options.index, host }, 'RPC URL answers again')
  circuit.succeeded()
  // The limit may have been hit because of large blocks: it is raised again, one request at a time.
  if (requests >= state.batchLimit && state.batchLimit < options.maxBatchSize) state.batchLimit += 1
}

/** Logs when a failure begins and periodically while it lasts, not for each request. */
function fail({ options, circuit, host }: Context, startedAt: number, reason: string, pauseMs = 0): void {
  circuit.failed(startedAt, pauseMs)
  const failures = circuit.failures()
  if (failures > 1 && !circuit.isOpen()) return
  options.log.warn({ endpoint: options.index, host, failures, reason }, 'RPC URL does not answer')
}

function describe({ options, host, circuit, state }: Context): EndpointHealth {
  const failures = circuit.failures()
  const wrong = options.now() < state.wrongUntil
  const broken = circuit.isOpen() ? 'open' : failures > 0 ? 'failing' : null
  return {
    endpoint: options.index,
    host,
    state: wrong ? 'wrong_chain' : (broken ?? (state.verified ? 'ready' : 'unverified')),
    failures,
    head: state.head,
    lagging: state.lagging,
  }
}
