/** What the guard costs: the same call of the same router, by the wallet itself and through the guard. */
import t from 'tap'
import type { Asset } from '../../src/core/assets.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { encodeGuardedSwap, GUARD_ADDRESS } from '../../src/swaps/contracts/guard.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import { amountsOf } from '../../src/swaps/route.ts'
import { ALICE, COIN, DOLLAR, TOKEN, withSwaps } from '../support/swap-stage.ts'

const FOREVER = 2 ** 40

t.test('the guard adds less than 50,000 gas to a swap', async (t) => {
  const { url, assets, market, venues, find, swap, call, balanceOf } = await withSwaps(t)
  // A pool writes an observation, of about 4,000 gas, with its first swap of each second: so each swap is one.
  await callRpc(url, 'anvil_setBlockTimestampInterval', [1])
  const { eth, usdc, usdt } = assets
  const own = { ...market, venues: [venues.v3] }
  // So that no balance is the first one of the wallet, or the last.
  for (const to of [usdc, usdt])
    await swap((await find({ from: eth, to, amount: 10n * COIN }, own)).routes[0].route, { from: eth, to })

  async function gasOf(from: Asset, to: Asset, amount: bigint) {
    const { route } = (await find({ from, to, amount }, own)).routes[0]
    const direct = await swap(route, { from, to })
    const { to: target, data } = encodeRoute(route, { wallet: ALICE, deadline: FOREVER })
    const spender = from.contract === null ? null : target
    const order = { sold: from.contract, bought: to.contract, amount, minimum: (amountsOf(route).amountOut * 9n) / 10n }
    const guarded = encodeGuardedSwap({ ...order, deadline: FOREVER, target, spender, data })
    if (from.contract !== null) await call(from.contract, TOKEN.encodeFunctionData('approve', [GUARD_ADDRESS, amount]))
    const before = await balanceOf(to)
    const receipt = await call(guarded.to, guarded.data, guarded.value)
    t.equal(receipt.status, '0x1', 'the guard makes the swap')
    t.ok((await balanceOf(to)) > before || to.contract === null)
    return { direct: Number(direct?.gasUsed ?? 0n), guarded: Number(receipt.gasUsed) }
  }

  const cases = [
    ['ETH for USDC', eth, usdc, COIN],
    ['USDC for ETH', usdc, eth, 1_000n * DOLLAR],
    ['USDC for USDT', usdc, usdt, 1_000n * DOLLAR],
    ['USDT for USDC', usdt, usdc, 1_000n * DOLLAR],
  ] as const
  for (const [name, from, to, amount] of cases) {
    const { direct, guarded } = await gasOf(from, to, amount)
    t.comment(`${name}: ${direct} gas direct, ${guarded} through the guard, ${guarded - direct} more`)
    t.ok(guarded > direct && guarded < direct + 50_000, name)
  }
})
