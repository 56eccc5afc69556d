/**
 * Quotes, swaps and simulated contract calls, compared with the bare calls of the same node, and the gas of swaps
 * beside the plain calls of the router.
 */
import { Interface } from 'ethers/abi'
import { Wallet } from 'ethers/wallet'
import pg from 'pg'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRouter02Swap } from '../../src/swaps/contracts/router.ts'
import { untilQuiet } from './accept.ts'
import { runLoad } from './load.ts'
import type { Figure } from './report.ts'
import { authHeaders, call, fundedWallets, type Subject, untilConfirmed } from './subject.ts'

const ASKED = 100
const SWAPS = 50
const CONNECTIONS = 16
/** Of a quote with pools that are known: head, pools, quotes, simulation. */
const QUOTE_TRIPS = 4
const PAID = 15n * 10n ** 17n
const FAR_AWAY = 4_000_000_000
/** The fourth account of every anvil: its key is public. */
const RAW_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
const ROUTER = new Interface([
  'function exactInputSingle(tuple(address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params) payable',
])
const BUY = { from_asset: 'ETH', to_asset: 'USDC', amount: '1.5' }

type Hop = { readonly from: string; readonly to: string; readonly fee_bps: number }
type Quote = {
  readonly route: readonly { readonly protocol: string; readonly contract: string; readonly hops: readonly Hop[] }[]
}
type Market = { readonly router: string; readonly native: string; readonly hop: Hop }
type Transaction = { readonly transaction_id: string; readonly hash: string }

export async function benchSwap(subject: Subject): Promise<Figure[]> {
  const [walletId = ''] = await fundedWallets(subject, 1)
  const quote = await call<Quote>(subject, 'POST', `/v1/wallets/${walletId}/swap/quote`, BUY)
  const [leg] = quote.route
  const hop = leg?.hops[0]
  if (hop === undefined || leg?.protocol !== 'v3') throw new Error('the sandbox quotes no swap over one V3 pool')
  const raw = createRaw(subject)
  const market = { router: leg.contract, native: hop.from, hop }
  return [
    ...(await compareReads(subject, walletId, market)),
    // Before the rates, which move the prices of the pools.
    ...(await compareGas(subject, raw, walletId, market)),
    ...(await compareRates(subject, raw, market)),
  ]
}

async function compareReads(subject: Subject, walletId: string, { native, hop }: Market): Promise<Figure[]> {
  const { rpc_url: url } = subject.service.state().networks.ethereum
  const quotePath = `/v1/wallets/${walletId}/swap/quote`
  const quoted = await p50(() => call(subject, 'POST', quotePath, BUY))
  const trips = await p50(async () => {
    for (let trip = 0; trip < QUOTE_TRIPS; trip += 1) await callRpc(url, 'eth_getBlockByNumber', ['latest', false])
  })
  const simulation = {
    contract_address: native,
    function_signature: 'function deposit() payable',
    value: '1.5',
    mode: 'simulate',
  }
  const simulated = await p50(() => call(subject, 'POST', `/v1/wallets/${walletId}/contract-call`, simulation))
  const deposit = { to: native, data: '0xd0e30db0', value: `0x${PAID.toString(16)}`, from: hop.to }
  const bare = await p50(() => callRpc(url, 'eth_call', [{ ...deposit, from: new Wallet(RAW_KEY).address }, 'latest']))
  return [
    figure('swap quote, p50', 'ms', quoted, trips, `${QUOTE_TRIPS} bare round trips, one after the other`),
    figure('contract call, simulate, p50', 'ms', simulated, bare, 'a bare eth_call of it'),
  ]
}

async function compareRates(subject: Subject, raw: Raw, { router, hop }: Market): Promise<Figure[]> {
  const legs = [
    { kind: 'v3' as const, hops: [{ ...hop, feePpm: hop.fee_bps * 100 }], amountIn: PAID, amountOut: 1n, limit: 1n },
  ]
  const swap = { router, exactOutput: false, native: 'in', wallet: raw.address, deadline: FAR_AWAY } as const
  const signed: string[] = []
  for (let n = 0; n < SWAPS; n += 1) signed.push(await raw.sign(encodeRouter02Swap(swap, legs)))
  let hashes: readonly string[] = []
  const pushed = await seconds(async () => {
    hashes = await raw.push(signed)
  })
  await gasOf(subject.service.state().networks.ethereum.rpc_url, hashes.at(-1) ?? '')
  const figures: Figure[] = []
  for (const count of [1, 20]) {
    const wallets = await fundedWallets(subject, count)
    await untilQuiet(subject)
    const ours = await seconds(() => swapThroughBursar(subject, wallets))
    const name = `${SWAPS} swaps from ${count} ${count === 1 ? 'wallet' : 'wallets'}`
    figures.push(figure(name, '/s', SWAPS / ours, SWAPS / pushed, 'pre-signed swaps pushed to the same node'))
  }
  return figures
}

/** Until every swap is in a block. */
async function swapThroughBursar(subject: Subject, wallets: readonly string[]): Promise<void> {
  const { base_url: url, database_url: connectionString } = subject.service.state()
  await runLoad({
    url,
    method: 'POST',
    headers: { ...authHeaders(subject), prefer: 'respond-async' },
    body: JSON.stringify({ ...BUY, max_price_impact_bps: 5_000, slippage_bps: 5_000 }),
    paths: wallets.map((wallet) => `/v1/wallets/${wallet}/swap`),
    connections: CONNECTIONS,
    amount: SWAPS,
  })
  const pool = new pg.Pool({ connectionString, max: 1 })
  const open = `SELECT count(*)::int AS n FROM transactions WHERE type = 'SWAP' AND state NOT IN ('mined', 'confirmed')`
  while ((await pool.query<{ n: number }>(open)).rows[0]?.n !== 0) await new Promise((wait) => setTimeout(wait, 50))
  await pool.end()
}

/** Each kind twice: the first makes the balances that later ones change, which costs gas of its own. */
async function compareGas(subject: Subject, raw: Raw, walletId: string, { router, native, hop }: Market) {
  const url = subject.service.state().networks.ethereum.rpc_url
  const swap = async (body: object): Promise<number> => {
    const made = await call<Transaction>(subject, 'POST', `/v1/wallets/${walletId}/swap`, body)
    await untilConfirmed(subject, walletId, made.transaction_id)
    const path = `/v1/wallets/${walletId}/transactions/${made.transaction_id}`
    return gasOf(url, (await call<Transaction>(subject, 'GET', path)).hash)
  }
  const plain = async (from: string, to: string, amountIn: bigint): Promise<number> => {
    const value = from === native ? amountIn : 0n
    if (value === 0n) await raw.push([await raw.sign({ to: from, value, data: encodeApprove(router, amountIn) })])
    const single = [from, to, hop.fee_bps * 100, raw.address, amountIn, 1n, 0n]
    const signed = await raw.sign({ to: router, value, data: ROUTER.encodeFunctionData('exactInputSingle', [single]) })
    const [hash = ''] = await raw.push([signed])
    return gasOf(url, hash)
  }
  await swap(BUY)
  await plain(native, hop.to, PAID)
  const what = 'the plain call of the router'
  const sell = { from_asset: 'USDC', to_asset: 'ETH', amount: '1000' }
  return [
    figure('swap of the native currency', 'gas', await swap(BUY), await plain(native, hop.to, PAID), what),
    figure(
      'swap of a token',
      'gas',
      await swap(sell),
      await plain(hop.to, native, 1_000_000_000n),
      `${what}, not unwrapped`,
    ),
  ]
}

async function gasOf(url: string, hash: string): Promise<number> {
  const receipt = (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as { gasUsed: string; status: string }
  if (receipt.status !== '0x1') throw new Error(`${hash} reverted`)
  return Number(receipt.gasUsed)
}

type Raw = {
  readonly address: string
  readonly sign: (request: { readonly to: string; readonly value: bigint; readonly data: string }) => Promise<string>
  /** Returns hashes once all are in a block. */
  readonly push: (signed: readonly string[]) => Promise<string[]>
}

/** An account of the node, without Bursar. */
function createRaw({ service }: Subject): Raw {
  const { rpc_url: url, chain_id: chainId } = service.state().networks.ethereum
  const wallet = new Wallet(RAW_KEY)
  const countOf = async () => Number(await callRpc(url, 'eth_getTransactionCount', [wallet.address, 'latest']))
  let nonce: number | null = null
  return {
    address: wallet.address,
    async sign(request) {
      const own = nonce ?? (await countOf())
      nonce = own + 1
      const fees = { gasLimit: 500_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
      return wallet.signTransaction({ type: 2, chainId, nonce: own, ...request, ...fees })
    },
    async push(signed) {
      const hashes: string[] = []
      for (const bytes of signed) hashes.push(String(await callRpc(url, 'eth_sendRawTransaction', [bytes])))
      while ((await countOf()) < (nonce ?? 0)) await new Promise((wait) => setTimeout(wait, 50))
      return hashes
    },
  }
}

/** Milliseconds, one call after another. */
async function p50(ask: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < ASKED; n += 1) times.push(1_000 * (await seconds(ask)))
  return times.sort((a, b) => a - b)[ASKED / 2] ?? 0
}

async function seconds(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return (performance.now() - startedAt) / 1_000
}

function figure(bench: string, unit: string, ours: number, ceiling: number, ceilingIs: string): Figure {
  return { bench, unit, ours, ceiling, ceilingIs }
}
