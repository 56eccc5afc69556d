/**
 * JSON-RPC 2.0 encoding. Every request gets exactly one result, even when the server's results are out of order,
 * missing or duplicated, or are one error for the whole batch.
 */
import { ChainRefused, Unavailable } from '../core/errors.ts'
import { foreignText } from './foreign-text.ts'

/** Maximum characters kept of a node's message. Nodes include contract revert reasons, which have any length. */
const MAX_MESSAGE = 2_000

export type RpcRequest = { readonly method: string; readonly params: readonly unknown[] }

/**
 * Why there is no answer. `too_large`: the same requests may succeed in smaller batches. `overloaded`: the server
 * responds but did not process this request. `no_quorum`: too few nodes say the same.
 */
export type UnavailableReason =
  | 'timeout'
  | 'network'
  | 'http_status'
  | 'rate_limited'
  | 'overloaded'
  | 'too_large'
  | 'invalid_response'
  | 'no_endpoint'
  | 'no_quorum'

/** `answer`: the node processed the request and returned an error. `unavailable`: the request got no answer. */
export type RpcFailure =
  | { readonly kind: 'answer'; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly kind: 'unavailable'; readonly reason: UnavailableReason; readonly message: string }

export type RpcResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: RpcFailure }

/** Reads a chain: results are in the order of the requests, and nothing is thrown. */
export type RpcReader = { readonly batch: (requests: readonly RpcRequest[]) => Promise<readonly RpcResult[]> }

export function unavailable(reason: UnavailableReason, message: string): RpcFailure {
  return { kind: 'unavailable', reason, message }
}

/** A single request is sent as an object, since some proxies refuse arrays; ids are indexes in the batch. */
export function encodeRequests(requests: readonly RpcRequest[]): string {
  const messages = requests.map((request, id) => ({
    jsonrpc: '2.0',
    id,
    method: request.method,
    params: request.params,
  }))
  return JSON.stringify(messages.length === 1 ? messages[0] : messages)
}

/**
 * Matches the results of a server with the requests.
 *
 * @param text the body of the response
 * @param count the number of requests in the batch
 */
export function decodeResults(text: string, count: number): RpcResult[] {
  const parsed = parseJson(text)
  const lone = { ok: false, error: unavailable('invalid_response', 'the body is not a JSON-RPC response') } as const
  if (!Array.isArray(parsed)) {
    // A single object for a batch is an error of the whole batch: every request gets it.
    const result = readResult(parsed) ?? lone
    return Array.from({ length: count }, () => (count > 1 && result.ok ? lone : result))
  }
  const silent = {
    ok: false,
    error: unavailable('invalid_response', 'the node did not respond to the request'),
  } as const
  const results = Array.from<RpcResult>({ length: count }).fill(silent)
  for (const message of parsed) {
    const result = readResult(message)
    const id = (message as { id?: unknown } | null)?.id
    if (result === null) continue
    if (typeof id === 'number' && id >= 0 && id < count) results[id] = result
    else if (parsed.length === 1 && !result.ok) results.fill(result)
  }
  return results
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readResult(message: unknown): RpcResult | null {
  if (typeof message !== 'object' || message === null) return null
  if ('error' in message && message.error !== null && message.error !== undefined) {
    return { ok: false, error: readError(message.error) }
  }
  return 'result' in message ? { ok: true, value: message.result } : null
}

function readError(error: unknown): RpcFailure {
  if (typeof error !== 'object' || error === null)
    return { kind: 'answer', code: 0, message: foreignText(String(error), MAX_MESSAGE) }
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown }
  return {
    kind: 'answer',
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? foreignText(message, MAX_MESSAGE) : 'the node returned no reason',
    ...(data === undefined ? {} : { data }),
  }
}

/**
 * The value of a result.
 *
 * @throws Unavailable `rpc_unavailable` when there was no answer, `no_quorum` when too few nodes say the same, ChainRefused `rpc_error` (its cause is the failure)
 *   when the node answered with an error
 */
export function resultValue(result: RpcResult | undefined, method: string): unknown {
  if (result?.ok) return result.value
  if (result?.error.kind === 'answer') {
    throw new ChainRefused('rpc_error', `The node refused ${method}: ${result.error.message}`, { cause: result.error })
  }
  if (result?.error.reason === 'no_quorum')
    throw new Unavailable('no_quorum', `Nothing is decided by ${method}: ${result.error.message}.`, {
      cause: result.error,
    })
  throw new Unavailable(
    'rpc_unavailable',
    `No node answered ${method}: ${result?.error.message ?? 'the request was not sent'}.`,
    {
      cause: result?.error,
    },
  )
}

/** The value of one request. @throws as `resultValue` */
export async function rpcCall(reader: RpcReader, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const [result] = await reader.batch([{ method, params }])
  return resultValue(result, method)
}
