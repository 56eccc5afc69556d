/** The exchanges of a local chain: real routers, deep pools at the feeds' prices, and tokens like the public ones. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Interface } from 'ethers/abi'
import { MaxUint256 } from 'ethers/constants'
import t from 'tap'
import { NETWORKS } from '../../src/core/networks.ts'
import { exchangesOf } from '../../src/sandbox/added/swaps.ts'
import { startAnvil } from '../../src/sandbox/anvil.ts'
import { setUpChain } from '../../src/sandbox/chain-setup.ts'
import { OWNER } from '../../src/sandbox/deploy.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from '../support/anvil.ts'
import { type ExchangeChain, withExchanges } from '../support/exchanges.ts'

/** An unlocked account beside the owner. */
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const FEES = [500, 3000, 10000] as const
const COIN = 10n ** 18n
const DOLLAR = 10n ** 6n

const ABI = new Interface([
  'function getPool(address, address, uint24) view returns (address)',
  'function getPair(address, address) view returns (address)',
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function factory() view returns (address)',
  'function WETH() view returns (address)',
  'function WETH9() view returns (address)',
  'function balanceOf(address) view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function allowance(address, address) view returns (uint256)',
  'function symbol() view returns (string)',
  'function approve(address, uint256)',
  'function transfer(address, uint256)',
  'function deposit() payable',
  'function withdraw(uint256)',
  'function quoteExactInputSingle((address tokenIn, address tokenOut, uint256 amountIn, uint24 fee, uint160 limit)) returns (uint256, uint160, uint32, uint256)',
  'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 limit)) payable returns (uint256)',
  'function getAmountsOut(uint256, address[]) view returns (uint256[])',
  'function swapExactETHForTokens(uint256, address[], address, uint256) payable',
])

type Receipt = { readonly status: string; readonly logs: readonly { readonly topics: readonly string[] }[] }

async function read(url: string, to: string, method: string, values: readonly unknown[] = []): Promise<unknown> {
  const data = ABI.encodeFunctionData(method, values)
  const returned = (await callRpc(url, 'eth_call', [{ to, data }, 'latest'])) as string
  return ABI.decodeFunctionResult(method, returned).toArray(true)[0]
}

async function send(
  url: string,
  to: string,
  method: string,
  values: readonly unknown[] = [],
  value = 0n,
): Promise<Receipt> {
  const data = ABI.encodeFunctionData(method, values)
  const transaction = { from: ALICE, to, data, value: `0x${value.toString(16)}`, gas: '0x100000' }
  const hash = await callRpc(url, 'eth_sendTransaction', [transaction])
  await callRpc(url, 'evm_mine')
  return (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Receipt
}

function poolsOf({ url, contracts, exchanges }: ExchangeChain, token: string): Promise<unknown[]> {
  const pair = [contracts.wrappedNative, token]
  return Promise.all([
    ...FEES.map((fee) => read(url, exchanges.v3Factory, 'getPool', [...pair, fee])),
    read(url, exchanges.v2Factory, 'getPair', pair),
  ])
}

async function sentBy(url: string, account: string): Promise<number> {
  return Number(await callRpc(url, 'eth_getTransactionCount', [account, 'latest']))
}

t.test('each chain trades at the prices of its feeds on every pool', async (t) => {
  const prices = { ethereum: 3_000n * DOLLAR, polygon: DOLLAR / 2n, binance: 600n * DOLLAR }
  for (const network of NETWORKS) {
    const { url, contracts, exchanges } = await withExchanges(t, { network })
    const { wrappedNative } = contracts
    t.equal(await read(url, wrappedNative, 'symbol'), { ethereum: 'WETH', polygon: 'WPOL', binance: 'WBNB' }[network])
    for (const tokenOut of [contracts.usdc, contracts.usdt]) {
      const expected = prices[network]
      const within = (out: unknown, fee: bigint, from: string) => {
        const lost = ((expected - (out as bigint)) * 1_000_000n) / expected
        t.ok(lost >= fee && lost < fee + 1_000n, `${network} ${from}: ${out} of ${expected}`)
      }
      for (const fee of FEES) {
        const values = [[wrappedNative, tokenOut, COIN, fee, 0n]]
        within(await read(url, exchanges.quoter, 'quoteExactInputSingle', values), BigInt(fee), `V3 ${fee}`)
      }
      const amounts = await read(url, exchanges.v2Router, 'getAmountsOut', [COIN, [wrappedNative, tokenOut]])
      within((amounts as bigint[])[1], 3_000n, 'V2')
    }
  }
})

t.test('the routers belong together and execute what is quoted', async (t) => {
  const { url, contracts, exchanges } = await withExchanges(t)
  const { wrappedNative, usdc } = contracts
  for (const contract of [exchanges.swapRouter, exchanges.quoter]) {
    t.equal(await read(url, contract, 'factory'), exchanges.v3Factory)
    t.equal(await read(url, contract, 'WETH9'), wrappedNative)
  }
  t.equal(await read(url, exchanges.v2Router, 'factory'), exchanges.v2Factory)
  t.equal(await read(url, exchanges.v2Router, 'WETH'), wrappedNative)

  const quoted = await read(url, exchanges.quoter, 'quoteExactInputSingle', [[wrappedNative, usdc, COIN, 500, 0n]])
  const order = [wrappedNative, usdc, 500, ALICE, COIN, quoted, 0n]
  t.match(await send(url, exchanges.swapRouter, 'exactInputSingle', [order], COIN), { status: '0x1' })
  t.equal(await read(url, usdc, 'balanceOf', [ALICE]), quoted)

  const path = [wrappedNative, usdc]
  const amounts = (await read(url, exchanges.v2Router, 'getAmountsOut', [COIN, path])) as bigint[]
  const values = [amounts[1], path, ALICE, MaxUint256]
  t.match(await send(url, exchanges.v2Router, 'swapExactETHForTokens', values, COIN), { status: '0x1' })
  t.equal(await read(url, usdc, 'balanceOf', [ALICE]), (quoted as bigint) + (amounts[1] ?? 0n))
})

t.test('a restart of the node and a second setup keep the pools as users left them', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-exchanges-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const options = { chainId: 1_000_001, port: await freePort(), directory, keepState: true, mining: 'call' } as const
  const first = await startAnvil(options)
  const { url } = first
  const setup = await setUpChain(url, 'ethereum')
  const { contracts } = setup
  const exchanges = exchangesOf(setup.added)
  if (exchanges === null) throw new Error('no exchanges')
  const path = [contracts.wrappedNative, contracts.usdt]
  await send(url, exchanges.v2Router, 'swapExactETHForTokens', [0n, path, ALICE, MaxUint256], 100n * COIN)
  const pair = (await read(url, exchanges.v2Factory, 'getPair', path)) as string
  const left = await read(url, pair, 'getReserves')
  const sent = await sentBy(url, OWNER)
  await first.stop()

  const second = await startAnvil(options)
  t.teardown(second.stop)
  t.strictSame(await setUpChain(url, 'ethereum'), setup)
  t.equal(await read(url, pair, 'getReserves'), left)
  t.equal(await sentBy(url, OWNER), sent, 'nothing was sent again')
})

t.test('a setup that was interrupted is completed', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const alone = await setUpChain(url, 'ethereum', createRequire(join(tmpdir(), 'no-packages-here.js')))
  t.equal(exchangesOf(alone.added), null, 'without the packages a chain has no exchanges')
  const { contracts, added } = await setUpChain(url, 'ethereum')
  const exchanges = exchangesOf(added)
  t.strictSame(contracts, alone.contracts)
  if (exchanges === null) throw new Error('no exchanges')
  const { v2Factory, v3Factory } = exchanges
  const pair = [contracts.usdc, contracts.usdt]
  t.not(BigInt((await read(url, v2Factory, 'getPair', pair)) as string), 0n)
  t.not(BigInt((await read(url, v3Factory, 'getPool', [...pair, 500])) as string), 0n)
})

t.test('every pool of the native currency has both tokens', async (t) => {
  const chain = await withExchanges(t, { network: 'polygon' })
  const { url, contracts } = chain
  for (const token of [contracts.usdc, contracts.usdt]) {
    for (const pool of await poolsOf(chain, token)) {
      const [native, dollars] = await Promise.all(
        [contracts.wrappedNative, token].map((each) => read(url, each, 'balanceOf', [pool])),
      )
      t.ok((dollars as bigint) >= 4_999_999n * DOLLAR, `${dollars} of ${token}`)
      t.ok((native as bigint) >= 9_999_999n * COIN, `${native} of the native currency`)
    }
  }
})

t.test('wrapping emits Deposit and Withdrawal and no Transfer', async (t) => {
  const { url, contracts } = await withExchanges(t)
  const { wrappedNative } = contracts
  const supply = (await read(url, wrappedNative, 'totalSupply')) as bigint
  const signatures = async (receipt: Promise<Receipt>) => (await receipt).logs.map(({ topics }) => topics[0])
  const deposit = ['0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c']
  t.strictSame(await signatures(send(url, wrappedNative, 'deposit', [], 3n * COIN)), deposit)
  t.equal(await read(url, wrappedNative, 'totalSupply'), supply + 3n * COIN)
  const withdrawal = ['0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65']
  t.strictSame(await signatures(send(url, wrappedNative, 'withdraw', [COIN])), withdrawal)
  t.equal(await read(url, wrappedNative, 'balanceOf', [ALICE]), 2n * COIN)
  t.match(await send(url, wrappedNative, 'withdraw', [3n * COIN]), { status: '0x0' })
  t.strictSame(
    await signatures(send(url, wrappedNative, 'totalSupply', [], COIN)),
    [],
    'a function that exists takes no value',
  )
  t.strictSame(await signatures(send(url, wrappedNative, 'getReserves', [], COIN)), deposit, 'an unknown one wraps it')
})

t.test('USDT changes an allowance only from or to zero, and returns nothing', async (t) => {
  const { url, contracts } = await withExchanges(t)
  const { usdt } = contracts
  const approve = (amount: bigint) => send(url, usdt, 'approve', [OWNER, amount])
  const allowed = () => read(url, usdt, 'allowance', [ALICE, OWNER])
  t.match(await approve(5n), { status: '0x1' })
  t.match(await approve(6n), { status: '0x0' })
  t.equal(await allowed(), 5n)
  t.match(await approve(0n), { status: '0x1' })
  t.match(await approve(6n), { status: '0x1' })
  t.equal(await allowed(), 6n)
  const data = ABI.encodeFunctionData('transfer', [OWNER, 0n])
  t.equal(await callRpc(url, 'eth_call', [{ from: ALICE, to: usdt, data }, 'latest']), '0x')
  await t.rejects(read(url, usdt, 'transfer', [OWNER, 1n]), { message: /revert/ })
})
t.end()
