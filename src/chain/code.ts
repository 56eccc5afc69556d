/**
 * Which addresses are contracts. The answer is cached for a while: longer for contracts, whose code only a reorg removes, than
 * for plain accounts, since a contract can be deployed to an address, or an account delegated (EIP-7702), at any time.
 * Memory is bounded.
 */
import { gathering } from '../core/gathering.ts'
import { patienceWith } from './asked-together.ts'
import { readData } from './hex.ts'
import { type RpcReader, resultValue } from './json-rpc.ts'

/** The code of an account that delegates to a contract (EIP-7702). A delegation can be removed. */
const DELEGATION_PREFIX = '0xef0100'

export type CodeLookup = {
  /**
   * @returns for each address, in order, whether it has code; true for a delegated account
   * @throws Unavailable when no node answered
   */
  readonly haveCode: (addresses: readonly string[]) => Promise<boolean[]>
}

type Entry = { readonly hasCode: boolean; readonly until: number }

export function createCodeLookup(options: {
  readonly client: RpcReader
  /** A clock, ms. */
  readonly now: () => number
  /** How long "no code" or "delegated" is cached, ms. */
  readonly accountTtlMs?: number
  /** How long a contract is cached, ms. */
  readonly contractTtlMs?: number
  readonly maxEntries?: number
}): CodeLookup {
  const { client, now, accountTtlMs = 30_000, contractTtlMs = 60_000, maxEntries = 20_000 } = options
  const known = new Map<string, Entry>()

  const recall = (key: string): boolean | undefined => {
    const entry = known.get(key)
    if (entry === undefined) return undefined
    known.delete(key)
    if (entry.until <= now()) return undefined
    // Inserted again: a Map keeps insertion order, so the least recently used key is its first.
    known.set(key, entry)
    return entry.hasCode
  }

  const remember = (key: string, code: string): boolean => {
    const lasting = code !== '0x' && !code.toLowerCase().startsWith(DELEGATION_PREFIX)
    const oldest = known.keys().next()
    if (known.size >= maxEntries && !oldest.done) known.delete(oldest.value)
    known.set(key, { hasCode: code !== '0x', until: now() + (lasting ? contractTtlMs : accountTtlMs) })
    return code !== '0x'
  }

  const ask = gathering(
    (keys: readonly string[]) => client.batch(keys.map((key) => ({ method: 'eth_getCode', params: [key, 'latest'] }))),
    { patience: patienceWith(String) },
  )

  return {
    haveCode: async (addresses) => {
      const keys = addresses.map((address) => address.toLowerCase())
      const answers = new Map<string, boolean | undefined>(keys.map((key) => [key, recall(key)]))
      const unknown = [...answers].filter(([, answer]) => answer === undefined).map(([key]) => key)
      const results = await ask(unknown)
      for (const [i, key] of unknown.entries()) {
        answers.set(key, remember(key, readData(resultValue(results[i], 'eth_getCode'), 'a contract code')))
      }
      return keys.map((key) => answers.get(key) ?? false)
    },
  }
}
