/** Swaps of unusual tokens on real exchanges: a quote says the truth or is refused, and no swap loses money. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import { amountsOf } from '../../src/swaps/route.ts'
import { swapFailureCode } from '../../src/swaps/swap-failure.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { deployPair } from '../support/swap-pair.ts'
import { ALICE, COIN, DOLLAR, mined, withSwaps } from '../support/swap-stage.ts'

/** Another unlocked account of anvil. */
const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const NOBODY = '0x0000000000000000000000000000000000000000'
const [HONEST, RETURNS_FALSE, RETURNS_NOTHING, PAUSED] = [0, 1, 2, 3]

const { abi, bytecode } = contractIn(compileSolidity('SwapToken.sol'), 'SwapToken')
const ROUTER = new Interface(['function refundETH() payable'])

const stage = await withSwaps(t)
const { eth, usdc } = stage.assets
const { v2Router, swapRouter } = stage.exchanges

/** A token with a V2 pair of `tokens` base units and 1,000 of the native currency. */
async function deploy(decimals: number, tokens: bigint) {
  const word = decimals.toString(16).padStart(64, '0')
  const contract = await deployPair(stage, bytecode + word, tokens)
  return {
    asset: { assetId: `SWT${decimals}`, symbol: 'SWT', decimals, contract },
    turn: (way: number | undefined, { scale = 100n, refused = NOBODY } = {}) =>
      stage.call(contract, abi.encodeFunctionData('turn', [way, scale, refused])),
  }
}

const { asset: token, turn } = await deploy(18, 1_000_000n * COIN)
const BUY = { from: eth, to: token, amount: COIN }
const SELL = { from: token, to: eth, amount: 1_000n * COIN }

t.afterEach(() => turn(HONEST))

t.test('tokens that return nothing, or have no decimals or 77, are swapped as quoted', async (t) => {
  await turn(RETURNS_NOTHING)
  const [none, many] = [await deploy(0, 1_000_000n), await deploy(77, 10n ** 30n)]
  const output = { amountType: 'exact_output' } as const
  const cases = [
    BUY,
    SELL,
    { ...BUY, ...output, amount: 1_000n * COIN },
    { ...SELL, ...output, amount: COIN },
    { from: eth, to: none.asset, amount: COIN },
    { from: none.asset, to: eth, amount: 1n },
    { from: eth, to: none.asset, amount: 3n, ...output },
    { from: eth, to: many.asset, amount: COIN },
    { from: many.asset, to: eth, amount: 10n ** 27n },
  ]
  for (const wanted of cases) {
    const { found, outcome } = await stage.quote({ ...wanted, slippageBps: 0 })
    const { amountIn, amountOut } = amountsOf(found.route)
    const name = `${wanted.from.assetId} to ${wanted.to.assetId}, ${wanted.amount}`
    t.match(outcome, { type: 'swapped', paid: amountIn, received: amountOut }, `${name}: simulated`)
    t.match(await stage.swap(found.route, wanted), { paid: amountIn, received: amountOut }, `${name}: executed`)
  }
})

t.test('a token that moves nothing is quoted with its reason, and a swap of it costs no tokens', async (t) => {
  const { found: buying } = await stage.quote(BUY)
  const { found: selling } = await stage.quote(SELL)
  const cases: readonly [string, () => Promise<unknown>, string | RegExp][] = [
    ['paused', () => turn(PAUSED), /TRANSFER_FAILED|TRANSFER_FROM_FAILED/],
    ['returns false', () => turn(RETURNS_FALSE), /TRANSFER_FAILED|TRANSFER_FROM_FAILED/],
    ['refuses the wallet', () => turn(HONEST, { refused: ALICE }), /TRANSFER_FAILED|TRANSFER_FROM_FAILED/],
  ]
  for (const [name, change, reason] of cases) {
    await change()
    for (const [wanted, { route }] of [
      [BUY, buying],
      [SELL, selling],
    ] as const) {
      const { outcome } = await stage.quote(wanted)
      t.match(outcome, { type: 'reverted', reason }, `${name}: ${wanted.from.symbol} is sold`)
      const before = await stage.balanceOf(token)
      t.equal(await stage.swap(route, wanted), null, `${name}: a swap quoted before it fails`)
      t.equal(await stage.balanceOf(token), before, `${name}: no token is lost`)
    }
  }
  await turn(HONEST, { refused: v2Router })
  t.match((await stage.quote(SELL)).outcome, { type: 'reverted', reason: /TRANSFER_FROM_FAILED/ })
  t.match((await stage.quote(BUY)).outcome, { type: 'swapped' }, 'the pair sends without the router')
})

t.test('a token whose balances change is quoted as it is now, or with the reason', async (t) => {
  const { found: before } = await stage.quote(BUY)
  // The pair holds less than it remembers, until somebody synchronises it.
  await turn(HONEST, { scale: 50n })
  t.match((await stage.quote(BUY)).outcome, { type: 'reverted' })
  t.equal(await stage.swap(before.route, BUY), null)
  await turn(HONEST, { scale: 200n })
  const { found, outcome } = await stage.quote(BUY)
  const moved = await stage.swap(found.route, BUY)
  t.ok(moved !== null && moved.received >= amountsOf(found.route).limit)
  t.match(outcome, { type: 'swapped', received: moved?.received })
})

t.test('nothing is left in a router for a stranger to take', async (t) => {
  const output = { from: eth, to: usdc, amount: 500n * DOLLAR, amountType: 'exact_output', slippageBps: 500 } as const
  const { found } = await stage.quote(output, { venues: [stage.venues.v3] })
  const { amountIn, limit } = amountsOf(found.route)
  t.ok(limit > amountIn, 'more is sent than the swap takes')
  t.match(await stage.swap(found.route, output), { paid: amountIn, received: 500n * DOLLAR })
  const balance = async () => BigInt((await callRpc(stage.url, 'eth_getBalance', [BOB, 'latest'])) as string)
  const before = await balance()
  const refund = { from: BOB, to: swapRouter, data: ROUTER.encodeFunctionData('refundETH') }
  const { gasUsed, effectiveGasPrice } = await mined(stage.url, refund)
  t.equal(await balance(), before - BigInt(gasUsed) * BigInt(effectiveGasPrice), 'the stranger gets nothing')
})

t.test('an exact output above its maximum says STF, and is told as the exceeded maximum', async (t) => {
  const v3 = { venues: [{ ...stage.venues.v3, tiers: [500] }], hops: [] }
  await stage.swap((await stage.quote({ from: eth, to: usdc, amount: 10n * COIN })).found.route, {
    from: eth,
    to: usdc,
  })
  const wanted = { from: usdc, to: eth, amount: COIN, amountType: 'exact_output', slippageBps: 0 } as const
  const { found } = await stage.quote(wanted, v3)
  const { found: theirs } = await stage.quote({ from: usdc, to: eth, amount: 10_000n * DOLLAR }, v3)
  t.ok(await stage.swap(theirs.route, wanted))
  t.equal(await stage.swap(found.route, wanted), null, 'it does not cost more than its maximum')
  // The approval of the exact maximum is still there.
  const { to, data } = encodeRoute(found.route, { wallet: ALICE, deadline: 2 ** 40 })
  const answer = await fetch(stage.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ from: ALICE, to, data }, 'latest'] }),
  })
  const { error } = (await answer.json()) as { readonly error: { readonly data: string } }
  const message = decodeRevert(error.data)?.text ?? ''
  t.match(message, /STF/)
  t.equal(swapFailureCode({ code: 'execution_reverted', message }, { ...wanted, router: to }), 'slippage_exceeded')
})

t.end()
