/** The bytes of swaps: what quoters and routers get, and what they answer. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { uintWord } from '../../src/chain/hex.ts'
import {
  encodeV2Quote,
  encodeV3Quote,
  packPath,
  sqrtPriceOfWord,
  v2FeeOf,
  v2QuoteOf,
  v3QuoteOf,
} from '../../src/swaps/contracts/exchange-reads.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'

const A = '0x1111111111111111111111111111111111111111'
const B = '0x2222222222222222222222222222222222222222'
const C = '0x3333333333333333333333333333333333333333'
const ROUTER = '0x4444444444444444444444444444444444444444'
const WALLET = '0x5555555555555555555555555555555555555555'

t.test('quotes are encoded as the quoters expect', (t) => {
  const quoter = new Interface([
    'function quoteExactInput(bytes path, uint256 amountIn)',
    'function quoteExactOutput(bytes path, uint256 amountOut)',
  ])
  const router = new Interface([
    'function getAmountsOut(uint256 amountIn, address[] path)',
    'function getAmountsIn(uint256 amountOut, address[] path)',
  ])
  const hops = [
    { from: A, to: B, feePpm: 500 },
    { from: B, to: C, feePpm: 10_000 },
  ]
  const forwards = `0x${A.slice(2)}0001f4${B.slice(2)}002710${C.slice(2)}`
  const backwards = `0x${C.slice(2)}002710${B.slice(2)}0001f4${A.slice(2)}`
  t.equal(`0x${packPath(hops, false)}`, forwards)
  t.equal(encodeV3Quote(hops, 7n, false), quoter.encodeFunctionData('quoteExactInput', [forwards, 7]))
  t.equal(encodeV3Quote(hops, 7n, true), quoter.encodeFunctionData('quoteExactOutput', [backwards, 7]))
  t.equal(encodeV2Quote([A, B, C], 7n, false), router.encodeFunctionData('getAmountsOut', [7, [A, B, C]]))
  t.equal(encodeV2Quote([A, B, C], 7n, true), router.encodeFunctionData('getAmountsIn', [7, [A, B, C]]))
  t.end()
})

const words = (...values: readonly bigint[]) => `0x${values.map(uintWord).join('')}`
const LOWEST = 4295128739n
const HIGHEST = 1461446703485210103287273052203988822378723970342n

t.test('a quote whose pools end at the limit of their price is a partial fill, and no quote', (t) => {
  const answer = (...prices: readonly bigint[]) =>
    words(100n, 128n, 0n, 80_000n, BigInt(prices.length), ...prices, BigInt(prices.length), ...prices.map(() => 1n))
  t.strictSame(v3QuoteOf(answer(1n << 96n)), { amount: 100n, gas: 80_000n })
  t.strictSame(v3QuoteOf(answer(1n << 96n, 1n << 97n)), { amount: 100n, gas: 80_000n })
  for (const price of [LOWEST, LOWEST + 1n, HIGHEST - 1n, HIGHEST]) {
    t.equal(v3QuoteOf(answer(price)), null)
    t.equal(v3QuoteOf(answer(1n << 96n, price)), null, 'in the second hop')
  }
  t.end()
})

t.test('malformed answers of contracts are no quotes', (t) => {
  for (const data of [null, '0x', words(1n), words(100n, 128n, 0n, 1n), words(100n, 1n << 200n, 0n, 1n, 1n, 1n << 96n)])
    t.equal(v3QuoteOf(data), null)
  t.equal(v3QuoteOf(words(100n, 128n, 0n, 1n, 1n << 40n, 1n << 96n)), null, 'a list of a trillion prices')
  t.equal(v2QuoteOf(words(32n, 2n, 5n, 9n), 2, false), 9n)
  t.equal(v2QuoteOf(words(32n, 2n, 5n, 9n), 2, true), 5n)
  t.equal(v2QuoteOf(words(32n, 3n, 5n, 9n, 1n), 2, false), null)
  t.equal(v2QuoteOf(words(32n, 2n, 5n, 0n), 2, false), null)
  t.equal(sqrtPriceOfWord(0n), null, 'a pool that is not initialized')
  t.equal(v2FeeOf(words(996_999_999_999n)), 3_000)
  t.equal(v2FeeOf(words(997_499_999_999n)), 2_500, 'as PancakeSwap')
  t.equal(v2FeeOf(null), null)
  t.end()
})

const ROUTER02 = new Interface([
  'function multicall(uint256 deadline, bytes[] data) payable',
  'function exactInputSingle(tuple(address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 limit) params) payable',
  'function exactOutput(tuple(bytes path, address recipient, uint256 amountOut, uint256 amountInMaximum) params) payable',
  'function unwrapWETH9(uint256 amountMinimum, address recipient) payable',
  'function refundETH() payable',
])

function poolRoute(changes: Partial<PoolRoute>): PoolRoute {
  return {
    type: 'pools',
    venue: 'three',
    router: { kind: 'v3', address: ROUTER },
    amountType: 'exact_input',
    native: null,
    legs: [
      { kind: 'v3', hops: [{ from: A, to: B, pool: C, feePpm: 500 }], amountIn: '100', amountOut: '90', limit: '88' },
      { kind: 'v3', hops: [{ from: A, to: B, pool: A, feePpm: 3000 }], amountIn: '50', amountOut: '40', limit: '39' },
    ],
    ...changes,
  }
}

function innerCalls(data: string) {
  const [deadline, calls] = ROUTER02.decodeFunctionData('multicall', data)
  const decoded = (calls as string[]).map((call) => ROUTER02.parseTransaction({ data: call }))
  return { deadline, names: decoded.map((call) => call?.name), args: decoded.map((call) => call?.args.toArray(true)) }
}

t.test('a router gets exactly what its legs take, and refunds the rest in the same call', (t) => {
  const bought = encodeRoute(poolRoute({ native: 'in' }), { wallet: WALLET, deadline: 1_900_000_000 })
  t.match(bought, { to: ROUTER, value: 150n })
  const { deadline, names, args } = innerCalls(bought.data)
  t.equal(deadline, 1_900_000_000n)
  t.strictSame(names, ['exactInputSingle', 'exactInputSingle', 'refundETH'])
  t.strictSame(args[0], [[A, B, 500n, WALLET, 100n, 88n, 0n]], 'a minimum for each leg, received by the wallet')

  const exact = encodeRoute(poolRoute({ native: 'in', amountType: 'exact_output' }), { wallet: WALLET, deadline: 1 })
  t.equal(exact.value, 127n, 'the maxima of the legs')

  const sold = encodeRoute(poolRoute({ native: 'out' }), { wallet: WALLET, deadline: 1 })
  t.equal(sold.value, 0n)
  const unwrapped = innerCalls(sold.data)
  t.strictSame(unwrapped.names, ['exactInputSingle', 'exactInputSingle', 'unwrapWETH9'])
  t.strictSame(unwrapped.args[0]?.flat()[3], '0x0000000000000000000000000000000000000002', 'the router holds it')
  t.strictSame(unwrapped.args[2], [127n, WALLET], 'until it unwraps all of it for the wallet')
  t.end()
})

t.test('an exact output over two hops is encoded backwards', (t) => {
  const hops = [
    { from: A, to: B, pool: C, feePpm: 500 },
    { from: B, to: C, pool: A, feePpm: 3_000 },
  ]
  const legs = [{ kind: 'v3', hops, amountIn: '100', amountOut: '90', limit: '101' }] as const
  const { data, value } = encodeRoute(poolRoute({ amountType: 'exact_output', legs }), { wallet: WALLET, deadline: 1 })
  t.equal(value, 0n)
  const path = `0x${C.slice(2)}000bb8${B.slice(2)}0001f4${A.slice(2)}`
  t.strictSame(innerCalls(data).args, [[[path, WALLET, 90n, 101n]]])
  t.end()
})

t.test('V2 routers compare what the wallet received, and swap one leg', (t) => {
  const router = { kind: 'v2', address: ROUTER } as const
  const [leg] = poolRoute({}).legs
  const route = poolRoute({ router, legs: leg === undefined ? [] : [leg] })
  const name = (changes: Partial<PoolRoute>) =>
    encodeRoute({ ...route, ...changes }, { wallet: WALLET, deadline: 1 }).data.slice(0, 10)
  t.equal(name({}), '0x5c11d795', 'swapExactTokensForTokensSupportingFeeOnTransferTokens')
  t.equal(name({ native: 'in' }), '0xb6f9de95', 'swapExactETHForTokensSupportingFeeOnTransferTokens')
  t.equal(name({ native: 'out' }), '0x791ac947', 'swapExactTokensForETHSupportingFeeOnTransferTokens')
  t.equal(name({ amountType: 'exact_output' }), '0x8803dbee', 'swapTokensForExactTokens')
  t.equal(name({ amountType: 'exact_output', native: 'in' }), '0xfb3bdb41', 'swapETHForExactTokens')
  t.equal(name({ amountType: 'exact_output', native: 'out' }), '0x4a25d94a', 'swapTokensForExactETH')
  t.throws(() => name({ legs: poolRoute({}).legs }), /exactly one leg/)
  t.end()
})

t.test('an amount of 0 is never encoded: a router reads it as all that it holds', (t) => {
  const [leg] = poolRoute({}).legs
  const none = leg === undefined ? [] : [{ ...leg, amountIn: '0' }]
  t.throws(() => encodeRoute(poolRoute({ legs: none }), { wallet: WALLET, deadline: 1 }), /must be positive/)
  t.end()
})

t.test('wraps and unwraps call the wrapped token', (t) => {
  const terms = { wallet: WALLET, deadline: 1 }
  t.strictSame(encodeRoute({ type: 'wrap', contract: A, amount: '5' }, terms), { to: A, value: 5n, data: '0xd0e30db0' })
  t.strictSame(encodeRoute({ type: 'unwrap', contract: A, amount: '5' }, terms), {
    to: A,
    value: 0n,
    data: `0x2e1a7d4d${uintWord(5n)}`,
  })
  t.end()
})
