/** The service with a funded wallet on a chain with real exchanges. */
import { randomBytes } from 'node:crypto'
import { Interface } from 'ethers/abi'
import type { Test } from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import type { SwapQuote } from '../../src/swaps/quote.ts'
import { amountsOf, spenderOf } from '../../src/swaps/route.ts'
import { withExchanges } from './exchanges.ts'
import { withDatabase } from './postgres.ts'
import { eventually } from './sandbox-eventually.ts'
import type { ApiClient, Reply } from './service-api.ts'
import { withLocalService } from './service-local.ts'
import { TOKEN } from './swap-stage.ts'

/** The first of anvil's own accounts: it may mint the tokens of the sandbox. */
const RICH = toChecksumAddress('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const MINT = new Interface(['function mint(address to, uint256 amount)'])
const FOREVER = 2 ** 40

export async function withSwapService(t: Test) {
  const chain = await withExchanges(t, { mining: 'clock' })
  const { url: databaseUrl, pool } = await withDatabase(t)
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: chain.url,
    chainId: chain.chainId,
    env: { ...chain.env, ETHEREUM_CONFIRMATIONS: '2' },
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
      const reply = await service.api.insist({ method: 'POST', path: `${path}/swap/quote`, body })
      if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
      return reply.body.data
    },
    swap: (body: object, { api = service.api, key = randomBytes(8).toString('hex') }: SwapOptions = {}) =>
      api.insist({ method: 'POST', path: `${path}/swap`, body, key }),
    /** The transaction of an accepted swap, once its outcome is final. */
    async settled(reply: Reply) {
      const id = accepted(reply)
      return eventually(async () => {
        const view = await read(id)
        return view.status === 'pending' ? undefined : view
      })
    },
    cancel: (id: string) => service.api.insist({ method: 'POST', path: `${path}/transactions/${id}/cancel`, key: id }),
    async allowance(token: string, spender: string): Promise<bigint> {
      const data = TOKEN.encodeFunctionData('allowance', [wallet.address, spender])
      return BigInt((await callRpc(chain.url, 'eth_call', [{ to: token, data }, 'latest'])) as string)
    },
    /** Somebody else swaps this many times the amount of a quote, by the same route and in the same direction. */
    async overtake(quoteId: string, times: bigint) {
      const { rows } = await pool.query<{ quote: SwapQuote }>('SELECT quote FROM swap_quotes WHERE quote_id = $1', [
        quoteId,
      ])
      const quote = rows[0]?.quote
      if (quote?.route.type !== 'pools') throw new Error('the quote goes through pools')
      await swapLarge(chain.url, quote.route, quote.fromAsset.contract, times)
    },
  }
}

type SwapOptions = { readonly api?: ApiClient; readonly key?: string }

/** @returns the id of its transaction. @throws Error when the request was refused */
export function accepted(reply: Reply): string {
  if (reply.status !== 202) throw new Error(JSON.stringify(reply.body))
  return reply.body.data.transaction_id
}

async function swapLarge(url: string, route: PoolRoute, token: string | null, times: bigint): Promise<void> {
  const legs = route.legs.map((leg) => ({ ...leg, amountIn: (BigInt(leg.amountIn) * times).toString(), limit: '1' }))
  const large = { ...route, legs }
  const spender = spenderOf(large)
  const { amountIn } = amountsOf(large)
  if (token !== null && spender !== null) {
    await send(url, { to: token, data: MINT.encodeFunctionData('mint', [RICH, amountIn]) })
    await send(url, { to: token, data: TOKEN.encodeFunctionData('approve', [spender, amountIn]) })
  }
  const { to, data, value } = encodeRoute(large, { wallet: RICH, deadline: FOREVER })
  await send(url, { to, data, value: `0x${value.toString(16)}` })
}

async function send(url: string, transaction: Readonly<Record<string, string>>): Promise<void> {
  const hash = await callRpc(url, 'eth_sendTransaction', [{ from: RICH, gas: '0x2dc6c0', ...transaction }])
  const receipt = (await eventually(() => callRpc(url, 'eth_getTransactionReceipt', [hash]))) as { status: string }
  if (receipt.status !== '0x1') throw new Error('the swap of somebody else failed')
}
