/**
 * Proof that a transaction lost its nonce. The log says so by `NonceConsumedExternally`, and whoever can write to the log can
 * write that; so who signs the transaction under another nonce looks at the chain first: the old nonce must be taken, deep
 * enough, by a transaction that is none of its own and does something else.
 */
import { LRUCache } from 'lru-cache'

import { readCount, toQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { ChainRefused } from '../core/errors.ts'
import { sameHex } from '../keys/coverage.ts'
import { buildCall, type Call } from './build-call.ts'
import { findConsumer } from './find-consumer.ts'
import type { KnownTransaction } from './state.ts'

/** Nothing that was proven becomes untrue: it was final. */
const REMEMBERED = 10_000

export type ProveLostPorts = {
  /** `null` for a chain that is not configured here. */
  readonly chainOf: (chainId: number) => { readonly client: RpcReader; readonly confirmations: number } | null
}

/**
 * Looks at every nonce that the log calls lost.
 *
 * @returns what is not proven, or `null` when the transaction has lost all of them
 * @throws Unavailable when no node answers: the same question may be answered later
 */
export type ProveLost = (transaction: KnownTransaction) => Promise<string | null>

export function createProveLost({ chainOf }: ProveLostPorts): ProveLost {
  const proven = new LRUCache<string, true>({ max: REMEMBERED })

  return async (transaction) => {
    const { chainId, from } = transaction.intent
    for (const nonce of new Set(transaction.abandoned.map((attempt) => attempt.nonce))) {
      const call = buildCall(transaction)
      const name = `${chainId} ${from} ${nonce} ${call.to} ${call.value} ${call.data}`
      if (proven.has(name)) continue
      const chain = chainOf(chainId)
      if (chain === null) return `no node of chain ${chainId} is configured to prove that nonce ${nonce} is lost`
      const taker = await takerOf(chain, { address: from, nonce })
      if (typeof taker === 'string') return taker
      if (isCall(taker, call)) return `nonce ${nonce} was taken by this very call: it is done`
      if (transaction.abandoned.some(({ hash }) => sameHex(hash, taker.hash)))
        return `nonce ${nonce} was taken by bytes of its own`
      proven.set(name, true)
    }
    return null
  }
}

type Taker = { readonly hash: string; readonly to: string | null; readonly value: string; readonly input: string }

/** What took a nonce; in words why it is not known. */
async function takerOf(
  { client, confirmations }: { readonly client: RpcReader; readonly confirmations: number },
  account: { readonly address: string; readonly nonce: number },
): Promise<Taker | string> {
  const missing = `the chain does not show that another transaction took nonce ${account.nonce}`
  try {
    const head = readCount(await rpcCall(client, 'eth_blockNumber', []), 'a block number')
    const deep = Math.max(0, head - confirmations)
    const used = await rpcCall(client, 'eth_getTransactionCount', [account.address, toQuantity(deep)])
    if (readCount(used, 'a transaction count') <= account.nonce) return missing
    const consumer = await findConsumer(client, account, deep)
    if (consumer === null) return missing
    const { hash } = consumer
    const taker = (await rpcCall(client, 'eth_getTransactionByHash', [hash])) as Omit<Taker, 'hash'> | null
    return taker === null ? missing : { ...taker, hash }
  } catch (error) {
    if (error instanceof ChainRefused) return `${missing}: ${error.message}`
    throw error
  }
}

function isCall(taker: Taker, { to, value, data }: Call): boolean {
  return sameHex(taker.to, to) && BigInt(taker.value) === value && sameHex(taker.input, data)
}
