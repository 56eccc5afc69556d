/**
 * Requests at a block by its hash (EIP-1898), for nodes that know blocks in parameters only by number: those are asked by
 * the number, between two looks at the block of this number. An answer counts only if both have the hash.
 */
import type { RpcReader, RpcRequest, RpcResult } from './json-rpc.ts'
import { isBlockHashRefused } from './rpc-errors.ts'

type Named = { readonly hash: string; readonly request: RpcRequest }

/** Then a hash is tried again: one odd refusal, or one node of several, does not count for good. */
const BY_NUMBER_MS = 60_000

/**
 * As the reader; results are in the order of the requests.
 *
 * @param now a clock, ms
 */
export function withBlockHashes(reader: RpcReader, now: () => number): RpcReader {
  let refusedAt = Number.NEGATIVE_INFINITY
  return {
    async batch(requests) {
      const isUnderstood = Math.abs(now() - refusedAt) > BY_NUMBER_MS
      const results = new Map<number, RpcResult>()
      const ask = requests.map((_, i) => i).filter((i) => isUnderstood || hashIn(requests[i]) === null)
      const answers = await reader.batch(ask.flatMap((i) => requests[i] ?? []))
      for (const [place, i] of ask.entries()) results.set(i, answers[place] ?? SILENT)
      const open = requests.flatMap((request, i) => {
        const hash = hashIn(request)
        const result = results.get(i)
        const isOpen = result === undefined || (result.ok === false && isBlockHashRefused(result.error))
        return hash !== null && isOpen ? [{ i, hash, request }] : []
      })
      if (open.length > 0) {
        const byNumber = await readByNumber(reader, open)
        if (isUnderstood && byNumber.some(({ ok }) => ok)) refusedAt = now()
        for (const [place, { i }] of open.entries()) results.set(i, byNumber[place] ?? SILENT)
      }
      return requests.map((_, i) => results.get(i) ?? SILENT)
    },
  }
}

const SILENT: RpcResult = {
  ok: false,
  error: { kind: 'unavailable', reason: 'invalid_response', message: 'the node did not respond to the request' },
}
/** In the words of a node that does not have the block. */
const NOT_THERE: RpcResult = {
  ok: false,
  error: { kind: 'answer', code: -32000, message: 'header for hash not found' },
}

async function readByNumber(reader: RpcReader, named: readonly Named[]): Promise<RpcResult[]> {
  const hashes = [...new Set(named.map(({ hash }) => hash))]
  const headers = await reader.batch(hashes.map((hash) => ({ method: 'eth_getBlockByHash', params: [hash, false] })))
  const numbers = new Map(hashes.map((hash, i) => [hash, numberOf(headers[i])]))
  const look = (hash: string): RpcRequest => ({
    method: 'eth_getBlockByNumber',
    params: [numbers.get(hash) ?? 'latest', false],
  })
  const reads = named.map(({ hash, request }) => atNumber(request, numbers.get(hash) ?? 'latest'))
  const looks = hashes.map(look)
  const answers = await reader.batch([...looks, ...reads, ...looks])
  const agreed = new Set(
    hashes.filter((hash, i) => {
      const after = answers[looks.length + reads.length + i]
      return numbers.get(hash) != null && hashOf(answers[i]) === hash && hashOf(after) === hash
    }),
  )
  return named.map(({ hash }, i) => {
    const unread = headers[hashes.indexOf(hash)]
    if (unread?.ok === false) return unread
    return agreed.has(hash) ? (answers[looks.length + i] ?? SILENT) : NOT_THERE
  })
}

function hashIn(request: RpcRequest | undefined): string | null {
  const param = request?.params.find(isHashParam)
  return param === undefined ? null : param.blockHash.toLowerCase()
}

function atNumber({ method, params }: RpcRequest, number: string): RpcRequest {
  return { method, params: params.map((param) => (isHashParam(param) ? number : param)) }
}

/** A call has `to` and `data`, a filter of logs has more fields than the hash. */
function isHashParam(param: unknown): param is { readonly blockHash: string } {
  if (typeof param !== 'object' || param === null || !('blockHash' in param)) return false
  return typeof param.blockHash === 'string' && Object.keys(param).length === 1
}

function numberOf(result: RpcResult | undefined): string | null {
  const number = fieldOf(result, 'number')
  return typeof number === 'string' ? number : null
}

function hashOf(result: RpcResult | undefined): string | null {
  const hash = fieldOf(result, 'hash')
  return typeof hash === 'string' ? hash.toLowerCase() : null
}

function fieldOf(result: RpcResult | undefined, name: 'hash' | 'number'): unknown {
  if (!result?.ok || typeof result.value !== 'object' || result.value === null) return undefined
  return (result.value as Readonly<Record<string, unknown>>)[name]
}
