/**
 * Which accounts exist at a final block: they have a balance, a nonce or code (EIP-161). An account that exists does so
 * for good, so that answer is kept for long, though not for ever: a node may have been wrong, and then every transfer to
 * the account would fail. That it does not exist is asked again soon.
 */
import { LRUCache } from 'lru-cache'
import { gathering } from '../core/gathering.ts'
import { isHeard, PATIENCE_MS } from './asked-together.ts'
import type { RpcReader, RpcResult } from './json-rpc.ts'

const REMEMBERED_ACCOUNTS = 50_000
const EXISTS_FOR_MS = 600_000
const NEW_FOR_MS = 4_000
const METHODS = ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode'] as const

/** For each address, in order. False when a node does not know: the account then counts as new. Never throws. */
export type ExistsFinally = (addresses: readonly string[]) => Promise<boolean[]>

export function createExistsFinally(client: RpcReader): ExistsFinally {
  const known = new LRUCache<string, boolean>({ max: REMEMBERED_ACCOUNTS })
  async function askAbout(keys: readonly string[]): Promise<readonly (readonly RpcResult[])[]> {
    const each = [...new Set(keys)]
    const results = await client.batch(
      each.flatMap((key) => METHODS.map((method) => ({ method, params: [key, 'finalized'] }))),
    )
    const answers = new Map(each.map((key, i) => [key, results.slice(METHODS.length * i, METHODS.length * (i + 1))]))
    return keys.map((key) => answers.get(key) ?? [])
  }
  const ask = gathering(askAbout, {
    patience: { ms: PATIENCE_MS, nameOf: String, isAnswer: (results) => results.every(isHeard) },
  })
  return async (addresses) => {
    const keys = addresses.map((address) => address.toLowerCase())
    const unknown = [...new Set(keys.filter((key) => known.get(key) === undefined))]
    const answers = await ask(unknown).catch(() => [])
    const found = new Map(unknown.map((key, i) => [key, (answers[i] ?? []).some(isSomething)]))
    for (const [key, exists] of found) known.set(key, exists, { ttl: exists ? EXISTS_FOR_MS : NEW_FOR_MS })
    return keys.map((key) => found.get(key) ?? known.get(key) ?? false)
  }
}

function isSomething(result: RpcResult): boolean {
  return result.ok && typeof result.value === 'string' && /^0x0*[1-9a-f]/i.test(result.value)
}
