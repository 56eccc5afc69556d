/** What signers and parties sign of a swap: call data that pays the wallet, within the bounds of its event. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute, Route } from '../../src/swaps/events.ts'
import type { SwapSettings } from '../../src/swaps/exchange-settings.ts'
import type { SwapIntent } from '../../src/swaps/part.ts'
import { amountsOf, mostIn } from '../../src/swaps/route.ts'
import { routedSwapProblem } from '../../src/swaps/routed-swap.ts'
import type { AssetRef, Intent } from '../../src/transactions/intent.ts'

const [A, B, C] = ['0x1111111111111111111111111111111111111111', `0x${'22'.repeat(20)}`, `0x${'33'.repeat(20)}`]
const WRAPPED = '0x4444444444444444444444444444444444444444'
const [V2, V3] = ['0x5555555555555555555555555555555555555555', '0x6666666666666666666666666666666666666666']
const [WALLET, THIEF] = [`0x${'77'.repeat(20)}`, `0x${'88'.repeat(20)}`]
const DEADLINE = 1_900_000_000
const SETTINGS: SwapSettings = {
  venues: [
    { name: 'two', kind: 'v2', router: V2, quoter: V2, tiers: [] },
    { name: 'three', kind: 'v3', router: V3, quoter: A, tiers: [500] },
  ],
  wrappedNative: WRAPPED,
  hops: [],
}

type Known = { readonly route: Route; readonly sold: string | null; readonly bought: string | null }

const assetOf = (contract: string | null): AssetRef => ({ assetId: `${contract}`, symbol: 'X', decimals: 18, contract })

/** What was recorded for a route. */
function recordedFor(
  { route, sold, bought }: Known,
  call = encodeRoute(route, { wallet: WALLET, deadline: DEADLINE }),
) {
  const { amountIn, amountOut, limit } = amountsOf(route)
  const swap = {
    amountType: route.type === 'pools' ? route.amountType : 'exact_input',
    toAsset: assetOf(bought),
    fromAmount: amountIn.toString(),
    toAmount: amountOut.toString(),
    limit: limit.toString(),
  } as SwapIntent
  const intent = {
    from: WALLET,
    to: call.to,
    data: call.data,
    asset: assetOf(sold),
    amount: mostIn(route),
    validUntil: new Date(DEADLINE * 1_000).toISOString(),
  } as Intent
  return { intent, swap }
}

function problem({ intent, swap }: ReturnType<typeof recordedFor>): string | null {
  return routedSwapProblem(intent, swap, SETTINGS)
}

function poolsRoute(
  kind: 'v2' | 'v3',
  amountType: PoolRoute['amountType'],
  native: PoolRoute['native'],
  legs: 1 | 2 = 1,
): Known {
  const [from, to] = [native === 'in' ? WRAPPED : A, native === 'out' ? WRAPPED : B]
  const direct = [{ from, to, pool: C, feePpm: 500 }]
  const long = [
    { from, to: C, pool: C, feePpm: 500 },
    { from: C, to, pool: A, feePpm: 3_000 },
  ]
  const limits = amountType === 'exact_input' ? ['88', '39'] : ['101', '52']
  const all = [
    { kind, hops: long, amountIn: '100', amountOut: '90', limit: limits[0] ?? '' },
    {
      kind: kind === 'v3' && amountType === 'exact_input' ? 'v2' : kind,
      hops: direct,
      amountIn: '50',
      amountOut: '40',
      limit: limits[1] ?? '',
    },
  ] as const
  const router = { kind, address: kind === 'v2' ? V2 : V3 }
  const route: PoolRoute = { type: 'pools', venue: 'x', router, amountType, native, legs: all.slice(0, legs) }
  return { route, sold: native === 'in' ? null : A, bought: native === 'out' ? null : B }
}

const ROUTES = (['exact_input', 'exact_output'] as const).flatMap((type) =>
  ([null, 'in', 'out'] as const).flatMap((native) => [
    poolsRoute('v2', type, native),
    poolsRoute('v3', type, native),
    poolsRoute('v3', type, native, 2),
  ]),
)

t.test('every route that is made is signed', (t) => {
  for (const known of ROUTES) t.equal(problem(recordedFor(known)), null, JSON.stringify(known.route))
  const amount = '5'
  t.equal(
    problem(recordedFor({ route: { type: 'wrap', contract: WRAPPED, amount }, sold: null, bought: WRAPPED })),
    null,
  )
  t.equal(
    problem(recordedFor({ route: { type: 'unwrap', contract: WRAPPED, amount }, sold: WRAPPED, bought: null })),
    null,
  )
  t.end()
})

t.test('a swap that pays somebody else is not', (t) => {
  for (const known of ROUTES) {
    const call = encodeRoute(known.route, { wallet: THIEF, deadline: DEADLINE })
    t.match(problem(recordedFor(known, call)), /no swap of its exchange that pays the wallet/)
  }
  t.end()
})

t.test('a swap with another bound, amount, asset or deadline than its event says is not', (t) => {
  for (const known of ROUTES) {
    const { intent, swap } = recordedFor(known)
    const isInput = swap.amountType === 'exact_input'
    const refused = (changed: { intent?: Partial<Intent>; swap?: Partial<SwapIntent> }, rule: RegExp) =>
      t.match(problem({ intent: { ...intent, ...changed.intent }, swap: { ...swap, ...changed.swap } }), rule)
    refused({ swap: { limit: `${BigInt(swap.limit) + 1n}` } }, isInput ? /the minimum/ : /the maximum/)
    refused({ swap: { toAsset: assetOf(C) } }, /the assets|no swap/)
    refused({ intent: { asset: assetOf(C) } }, /the assets|no swap/)
    refused({ intent: { validUntil: new Date((DEADLINE + 1) * 1_000).toISOString() } }, /the deadline/)
    refused({ intent: { validUntil: null } }, /the deadline/)
    const amount = isInput ? { intent: { amount: intent.amount + 1n } } : { swap: { toAmount: '1' } }
    refused(amount, /the amount|no swap/)
    refused({ swap: { amountType: isInput ? 'exact_output' : 'exact_input' } }, /no swap|the amount|the m/)
    refused({ intent: { to: intent.to === V2 ? V3 : V2 } }, /no swap/)
  }
  t.end()
})

t.test('a swap that calls something besides is not', (t) => {
  const router = new Interface([
    'function multicall(uint256 deadline, bytes[] data) payable',
    'function unwrapWETH9(uint256 amountMinimum, address recipient) payable',
    'function sweepToken(address token, uint256 amountMinimum, address recipient) payable',
    'function refundETH() payable',
  ])
  const steal = router.encodeFunctionData('sweepToken', [B, 0n, THIEF])
  for (const known of ROUTES.filter(({ route }) => route.type === 'pools' && route.router.kind === 'v3')) {
    const call = encodeRoute(known.route, { wallet: WALLET, deadline: DEADLINE })
    const [deadline, calls] = router.decodeFunctionData('multicall', call.data)
    const made = calls as string[]
    const others = [[steal, ...made], [...made, steal], made.slice(0, -1), [...made, made[0]]]
    for (const inner of others) {
      const data = router.encodeFunctionData('multicall', [deadline, inner])
      t.type(problem(recordedFor(known, { ...call, data })), 'string', `${inner.length} calls`)
    }
    const unwrapped = made.map((inner) =>
      inner.startsWith('0x49404b7c') ? router.encodeFunctionData('unwrapWETH9', [0n, WALLET]) : inner,
    )
    const data = router.encodeFunctionData('multicall', [deadline, unwrapped])
    if (known.bought === null) t.match(problem(recordedFor(known, { ...call, data })), /no swap/, 'a lower minimum')
  }
  for (const known of ROUTES) {
    const call = encodeRoute(known.route, { wallet: WALLET, deadline: DEADLINE })
    for (const data of ['0x', call.data.slice(0, 10), `${call.data}00`, `0x${'ff'.repeat(40_000)}`])
      t.match(problem(recordedFor(known, { ...call, data })), /no swap/)
  }
  t.end()
})

t.test('the wrapped token is called only to wrap or unwrap what the event says', (t) => {
  const wrap = { route: { type: 'wrap', contract: WRAPPED, amount: '5' }, sold: null, bought: WRAPPED } as const
  const { intent, swap } = recordedFor(wrap)
  const transfer = `0xa9059cbb${THIEF.slice(2).padStart(64, '0')}${'5'.padStart(64, '0')}`
  t.match(problem({ intent: { ...intent, data: transfer }, swap }), /for something else/)
  t.match(problem({ intent: { ...intent, data: transfer }, swap: { ...swap, toAsset: assetOf(B) } }), /something else/)
  t.match(problem({ intent, swap: { ...swap, toAsset: assetOf(B) } }), /something else/)
  t.match(problem({ intent, swap: { ...swap, limit: '4' } }), /must give what it takes/)
  t.end()
})
