/**
 * A server that speaks the Swap API v2 of 0x (AllowanceHolder flow). An honest answer is call data of SwapRouter02 over
 * the real pool with a fee of 500; a test may change it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { minimumOut } from '../../src/swaps/bounds.ts'
import { encodeV3Quote, v3QuoteOf } from '../../src/swaps/contracts/exchange-reads.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import type { ExchangeChain } from './exchanges.ts'

const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const FOREVER = 2 ** 40

export type HonestAnswer = {
  readonly liquidityAvailable: boolean
  readonly buyAmount: string
  readonly minBuyAmount: string
  readonly sellAmount: string
  readonly allowanceTarget: string | null
  readonly transaction: { readonly to: string; readonly data: string; readonly value: string }
}

/** Changes an honest answer, or answers itself. @param route whose call data the answer has */
export type Lie = (answer: HonestAnswer, route: PoolRoute, response: ServerResponse) => unknown

export type HostedServer = {
  readonly url: string
  readonly key: string
  readonly requests: { readonly query: URLSearchParams; readonly headers: IncomingMessage['headers'] }[]
  /** From now on. @param lie what it does to its answers; `undefined` is sent by the lie itself */
  readonly answerBy: (lie: Lie) => void
}

export const honest: Lie = (answer) => answer

export async function withHostedSource(t: Test, chain: ExchangeChain): Promise<HostedServer> {
  const requests: HostedServer['requests'] = []
  let lie = honest
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '/', 'http://source').searchParams
    requests.push({ query, headers: request.headers })
    void answerOf(chain, query).then(({ answer, route }) => {
      const body = lie(answer, route, response)
      if (body !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    key: 'key-of-the-source',
    requests,
    answerBy(next) {
      lie = next
    },
  }
}

async function answerOf({ url, contracts, exchanges }: ExchangeChain, query: URLSearchParams) {
  const [sold, bought] = [query.get('sellToken') ?? '', query.get('buyToken') ?? '']
  const [from, to] = [sold, bought].map((token) => (token === NATIVE ? contracts.wrappedNative : token))
  const hops = [{ from: from ?? '', to: to ?? '', pool: '', feePpm: 500 }]
  const sellAmount = query.get('sellAmount') ?? '0'
  const data = encodeV3Quote(hops, BigInt(sellAmount), false)
  const quoted = await callRpc(url, 'eth_call', [{ to: exchanges.quoter, data }, 'latest'])
  const amountOut = v3QuoteOf(quoted as string)?.amount ?? 0n
  const limit = minimumOut(amountOut, Number(query.get('slippageBps'))).toString()
  const route: PoolRoute = {
    type: 'pools',
    venue: 'source',
    router: { kind: 'v3', address: exchanges.swapRouter },
    amountType: 'exact_input',
    native: sold === NATIVE ? 'in' : bought === NATIVE ? 'out' : null,
    legs: [{ kind: 'v3', hops, amountIn: sellAmount, amountOut: amountOut.toString(), limit }],
  }
  const call = encodeRoute(route, { wallet: query.get('recipient') ?? '', deadline: FOREVER })
  const answer: HonestAnswer = {
    liquidityAvailable: true,
    buyAmount: amountOut.toString(),
    minBuyAmount: limit,
    sellAmount,
    allowanceTarget: sold === NATIVE ? null : exchanges.swapRouter,
    transaction: { to: call.to, data: call.data, value: call.value.toString() },
  }
  return { answer, route }
}
