/** The service with a funded wallet on a chain with real exchanges. */
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { Kernel } from '../../src/compose/kernel.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted, type Client } from './client.ts'
import { type ExchangeChain, withExchanges } from './exchanges.ts'
import { overtake } from './overtake.ts'
import { withDatabase } from './postgres.ts'
import { withLocalService } from './service-local.ts'
import { TOKEN } from './swap-stage.ts'

export type SwapServiceOptions = {
  readonly env?: Readonly<Record<string, string>>
  /** The node URLs for the service, given that of the node itself. */
  readonly before?: (url: string) => Promise<readonly string[]>
  /** Called with the parts of each process before it starts to work. */
  readonly onKernel?: (kernel: Kernel) => void
  /** More settings, which need the contracts of the chain. */
  readonly envOf?: (chain: ExchangeChain) => Promise<Readonly<Record<string, string>>>
}

export async function withSwapService(t: Test, { env = {}, before, envOf, onKernel }: SwapServiceOptions = {}) {
  const chain = await withExchanges(t, { mining: 'clock' })
  const urls = (await before?.(chain.url)) ?? [chain.url]
  const { url: databaseUrl, pool } = await withDatabase(t)
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: chain.url,
    chainId: chain.chainId,
    env: {
      ...chain.env,
      ETHEREUM_CONFIRMATIONS: '2',
      ETHEREUM_RPC_URLS: urls.join(','),
      ...env,
      ...(await envOf?.(chain)),
    },
    ...(onKernel === undefined ? {} : { onKernel }),
  })
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('one wallet is made')
  const path = `/v1/wallets/${wallet.id}`
  const read = async (id: string) => (await service.api.insist({ path: `${path}/transactions/${id}` })).body.data
  return {
    ...chain,
    service,
    pool,
    wallet,
    read,
    async quote(body: object) {
      return accepted(await service.api.insist({ method: 'POST', path: `${path}/swap/quote`, body }))
    },
    swap: (body: object, { api = service.api, key = randomUUID() }: SwapOptions = {}) =>
      api.insist({ method: 'POST', path: `${path}/swap`, body, key }),
    /** The transaction of an accepted swap, once its outcome is final. */
    settled: service.api.settle,
    /** Waits for a state of a transaction. */
    until: (id: string, ...states: string[]) =>
      service.api.until(`${path}/transactions/${id}`, ({ state }) => states.includes(state)),
    cancel: (id: string) => service.api.insist({ method: 'POST', path: `${path}/transactions/${id}/cancel`, key: id }),
    async allowance(token: string, spender: string): Promise<bigint> {
      const data = TOKEN.encodeFunctionData('allowance', [wallet.address, spender])
      return BigInt((await callRpc(chain.url, 'eth_call', [{ to: token, data }, 'latest'])) as string)
    },
    /** Somebody else swaps this many times the amount of a quote, by the same route and in the same direction. */
    overtake: (quoteId: string, times: bigint) => overtake({ pool, url: chain.url }, quoteId, times),
  }
}

type SwapOptions = { readonly api?: Client; readonly key?: string }
