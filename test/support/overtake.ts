/** Somebody else who trades before the service does, and so moves the price. */
import { Interface } from 'ethers/abi'
import type { Pool } from 'pg'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import type { SwapQuote } from '../../src/swaps/quote.ts'
import { amountsOf, spenderOf } from '../../src/swaps/route.ts'
import { eventually } from './sandbox-eventually.ts'
import { TOKEN } from './swap-stage.ts'

/** The first of anvil's own accounts: it may mint the tokens of the sandbox. */
const RICH = toChecksumAddress('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const MINT = new Interface(['function mint(address to, uint256 amount)'])
const FOREVER = 2 ** 40

/** Somebody else swaps this many times the amount of a quote, by the same route and in the same direction. */
export async function overtake(
  { pool, url }: { readonly pool: Pool; readonly url: string },
  quoteId: string,
  times: bigint,
): Promise<void> {
  const { rows } = await pool.query<{ quote: SwapQuote }>('SELECT quote FROM swap_quotes WHERE quote_id = $1', [
    quoteId,
  ])
  const quote = rows[0]?.quote
  if (quote?.route.type !== 'pools') throw new Error('the quote goes through pools')
  await swapLarge(url, quote.route, quote.fromAsset.contract, times)
}

/** Somebody swaps this many times the amount of a route. @param token what it sells; `null` for the native currency */
export async function swapLarge(url: string, route: PoolRoute, token: string | null, times: bigint): Promise<void> {
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
  await callRpc(url, 'evm_mine')
  const receipt = (await eventually(() => callRpc(url, 'eth_getTransactionReceipt', [hash]))) as { status: string }
  if (receipt.status !== '0x1') throw new Error('the swap of somebody else failed')
}
