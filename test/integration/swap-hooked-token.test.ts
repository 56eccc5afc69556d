/** A token that trades through the same router while it is transferred: what a swap is said to have exchanged is what moved. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { fillPools } from '../../src/sandbox/added/pools.ts'
import { OWNER, send } from '../../src/sandbox/deploy.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { V2_ROUTER } from '../../src/swaps/contracts/router.ts'
import { encodeRoute } from '../../src/swaps/encode-route.ts'
import type { PoolRoute } from '../../src/swaps/events.ts'
import { executedSwap } from '../../src/swaps/executed-swap.ts'
import { THIEF } from '../support/mpc-asks.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { ALICE, COIN, mined, TOKEN, withSwaps } from '../support/swap-stage.ts'

const FOREVER = 2 ** 40
const MINT = new Interface(['function mint(address to, uint256 amount)'])
const TERMS = { amountType: 'exact_input', fromAmount: (100n * COIN).toString(), limit: '1' } as const
const RE_ENTERS = 2
const { abi, bytecode } = contractIn(compileSolidity('HostileSwaps.sol'), 'HostileCoin')

t.test('a sold token that sells something else for the native currency meanwhile', async (t) => {
  const stage = await withSwaps(t)
  const { url, contracts, exchanges, assets, venues, call, balanceOf } = stage
  const { contractAddress } = await mined(url, { from: OWNER, data: bytecode + '0'.repeat(64) })
  const contract = contractAddress ?? ''
  const coin = (name: string, ...args: readonly unknown[]) => call(contract, abi.encodeFunctionData(name, args))
  const mint = (to: string, amount: bigint) =>
    send(url, { to: contracts.usdc, data: MINT.encodeFunctionData('mint', [to, amount]) })
  await callRpc(url, 'anvil_setBalance', [OWNER, toQuantity(10n ** 26n)])
  const price = 10n ** 8n
  await fillPools(url, exchanges, [
    {
      ...{ address: contracts.wrappedNative, decimals: 18, price: 3_000n * price },
      supply: (amount) =>
        send(url, {
          to: contracts.wrappedNative,
          data: TOKEN.encodeFunctionData('deposit'),
          value: toQuantity(amount),
        }),
    },
    { address: contract, decimals: 18, price, supply: async (amount) => void (await coin('mint', OWNER, amount)) },
    { address: contracts.usdc, decimals: 6, price, supply: (amount) => mint(OWNER, amount) },
  ])
  await callRpc(url, 'evm_mine')
  const [amount, coinAsset] = [100n * COIN, { ...assets.usdc, contract, decimals: 18 }]
  await coin('mint', ALICE, amount)
  await call(contract, TOKEN.encodeFunctionData('approve', [exchanges.v2Router, amount]))
  // The token has USDC, lets the router take them, and sells them for the native currency while it is transferred.
  await mint(contract, 10n ** 9n)
  await coin('turn', RE_ENTERS, false)
  await coin('reenterBy', contracts.usdc, TOKEN.encodeFunctionData('approve', [exchanges.v2Router, 10n ** 9n]))
  await coin('transfer', ALICE, 0n)
  const path = [contracts.usdc, contracts.wrappedNative]
  await coin(
    'reenterBy',
    exchanges.v2Router,
    V2_ROUTER.encodeFunctionData('swapExactTokensForETHSupportingFeeOnTransferTokens', [
      ...[10n ** 9n, 0n, path, THIEF, FOREVER],
    ]),
  )
  const hops = [{ from: contract, to: contracts.wrappedNative, pool: contract, feePpm: 3_000 }]
  const route: PoolRoute = {
    ...{ type: 'pools', venue: 'v2', router: { kind: 'v2', address: venues.v2.router }, amountType: 'exact_input' },
    native: 'out',
    legs: [{ kind: 'v2', hops, amountIn: amount.toString(), amountOut: '1', limit: '1' }],
  }
  const before = await balanceOf(assets.eth)
  const swap = encodeRoute(route, { wallet: ALICE, deadline: FOREVER })
  const receipt = (await call(swap.to, swap.data)) as unknown as Record<string, string> & { logs: never[] }
  const gas = BigInt(receipt.gasUsed ?? 0) * BigInt(receipt.effectiveGasPrice ?? 0)
  const received = (await balanceOf(assets.eth)) - before + gas
  const entries = receipt.logs.map(({ address, topics, data }, logIndex) => ({ address, topics, data, logIndex }))
  const said = executedSwap(
    { from: ALICE, to: swap.to, contract: coinAsset.contract },
    { toAsset: assets.eth, wrapped: contracts.wrappedNative, ...TERMS },
    { entries, cut: false },
  )
  t.equal(said.toAmount, received, 'only what the router unwrapped for the wallet')
})
