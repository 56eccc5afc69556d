/** A service whose swaps go to private relays, and what the relays and the node were sent. */
import { Transaction } from 'ethers/transaction'
import type { Test } from 'tap'
import type { Fate, RpcCall } from './node-fates.ts'
import { startNodeProxy } from './service-node-proxy.ts'
import { withSwapService } from './swap-service.ts'

export const BUY = { from_asset: 'ETH', to_asset: 'USDC', amount: '1' }
export const PASS: Fate = { type: 'pass' }
/** As a relay that is down. */
export const DOWN: Fate = { type: 'refuse' }
/** As a relay that accepts bytes and never mines them. */
export const TAKEN: Fate = {
  type: 'answer',
  method: 'eth_sendRawTransaction',
  answer: { result: `0x${'00'.repeat(32)}` },
}

/** As a relay that refuses bytes with this message. */
export const refusing = (message: string): Fate => ({
  type: 'answer',
  method: 'eth_sendRawTransaction',
  answer: { error: { code: -32000, message } },
})

/** As a relay that knows one method only. */
const UNKNOWN_METHOD: Fate = {
  type: 'answer',
  method: 'eth_chainId',
  answer: { error: { code: -32601, message: 'the method eth_chainId does not exist' } },
}

export type RelayStage = {
  readonly url: string
  readonly asked: ReadonlyMap<string, number>
  readonly sent: Transaction[]
  /** What becomes of the bytes that it gets. */
  ofSends: () => Fate
}

/** @param count of the relays, in the order of the setting */
export async function withRelays(t: Test, count: number, env: Readonly<Record<string, string>> = {}) {
  let chainUrl = ''
  const node = await startNodeProxy(() => chainUrl)
  t.after(node.close)
  const toNode: Transaction[] = []
  const asked: RpcCall[] = []
  node.decide = (calls) => {
    toNode.push(...bytesIn(calls))
    asked.push(...calls)
    return PASS
  }
  const relays = await Promise.all(Array.from({ length: count }, () => startRelay(t, () => chainUrl)))
  const stage = await withSwapService(t, {
    env: { ETHEREUM_SWAP_RPC_URLS: relays.map(({ url }) => url).join(','), ...env },
    before: async (url) => {
      chainUrl = url
      return [node.url]
    },
  })
  return { ...stage, relays, toNode, askedOfNode: asked }
}

async function startRelay(t: Test, target: () => string): Promise<RelayStage> {
  const proxy = await startNodeProxy(target)
  t.after(proxy.close)
  const relay: RelayStage = { url: proxy.url, asked: proxy.asked, sent: [], ofSends: () => PASS }
  proxy.decide = (calls) => {
    if (calls.some(({ method }) => method === 'eth_chainId')) return UNKNOWN_METHOD
    relay.sent.push(...bytesIn(calls))
    return relay.ofSends()
  }
  return relay
}

function bytesIn(calls: readonly RpcCall[]): readonly Transaction[] {
  return calls.flatMap(({ method, params: [raw] }) =>
    method === 'eth_sendRawTransaction' ? [Transaction.from(String(raw))] : [],
  )
}

export const hashesOf = (transactions: readonly Transaction[]) => new Set(transactions.map(({ hash }) => hash))
