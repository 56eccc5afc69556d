/**
 * Call data of swaps: SwapRouter02 (V3 pools and V2 pairs), V2 routers, and the wrapped native token. Nothing is ever left in a
 * router, since anybody may take it: the value of a call equals what its legs take, and the rest is refunded in the
 * same call. Amounts are base units.
 */
import { Interface } from 'ethers/abi'
import { uintWord } from '../../chain/hex.ts'
import { packPath, type QuotedHop } from './exchange-reads.ts'

const SINGLE = 'address tokenIn, address tokenOut, uint24 fee, address recipient'

/** github.com/Uniswap/swap-router-contracts: V2SwapRouter, V3SwapRouter, PeripheryPaymentsWithFeeExtended,
 * MulticallExtended. */
export const ROUTER02 = new Interface([
  'function exactInput(tuple(bytes path, address recipient, uint256 amountIn, uint256 amountOutMinimum) params) payable',
  'function exactOutput(tuple(bytes path, address recipient, uint256 amountOut, uint256 amountInMaximum) params) payable',
  `function exactInputSingle(tuple(${SINGLE}, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params) payable`,
  `function exactOutputSingle(tuple(${SINGLE}, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params) payable`,
  'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to) payable',
  'function unwrapWETH9(uint256 amountMinimum, address recipient) payable',
  'function refundETH() payable',
  'function multicall(uint256 deadline, bytes[] data) payable',
])

const EXACT_IN = 'uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline'
const EXACT_OUT = 'uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline'

/** github.com/Uniswap/v2-periphery: UniswapV2Router02. */
export const V2_ROUTER = new Interface([
  `function swapExactTokensForTokensSupportingFeeOnTransferTokens(${EXACT_IN})`,
  `function swapExactTokensForETHSupportingFeeOnTransferTokens(${EXACT_IN})`,
  'function swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline) payable',
  `function swapTokensForExactTokens(${EXACT_OUT})`,
  `function swapTokensForExactETH(${EXACT_OUT})`,
  'function swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline) payable',
])

/** The recipient that SwapRouter02 reads as itself, for native currency that it unwraps afterwards. */
const THIS_ROUTER = '0x0000000000000000000000000000000000000002'

const DEPOSIT = '0xd0e30db0'
const WITHDRAW = '0x2e1a7d4d'

export type ContractCallData = { readonly to: string; readonly value: bigint; readonly data: string }

export type RouterLeg = {
  readonly kind: 'v2' | 'v3'
  readonly hops: readonly QuotedHop[]
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** The minimum of an exact input, or the maximum of an exact output. */
  readonly limit: bigint
}

export type RouterSwap = {
  readonly router: string
  readonly exactOutput: boolean
  readonly native: 'in' | 'out' | null
  /** Receives what is bought. */
  readonly wallet: string
  /** Seconds since the epoch: the router refuses the swap in a later block. */
  readonly deadline: number
}

/** The swap of legs by SwapRouter02. @throws Error for an amount of 0, which the router reads as its own balance */
export function encodeRouter02Swap(swap: RouterSwap, legs: readonly RouterLeg[]): ContractCallData {
  const { router, exactOutput, native, wallet, deadline } = swap
  const recipient = native === 'out' ? THIS_ROUTER : wallet
  const calls = legs.map((leg) => encodeLeg(leg, exactOutput, recipient))
  if (native === 'out') {
    const least = sum(legs.map(({ amountOut, limit }) => (exactOutput ? amountOut : limit)))
    calls.push(ROUTER02.encodeFunctionData('unwrapWETH9', [least, wallet]))
  }
  if (native === 'in') calls.push(ROUTER02.encodeFunctionData('refundETH'))
  const data = ROUTER02.encodeFunctionData('multicall', [deadline, calls])
  return { to: router, value: native === 'in' ? sum(legs.map((leg) => mostIn(leg, exactOutput))) : 0n, data }
}

function encodeLeg(leg: RouterLeg, exactOutput: boolean, recipient: string): string {
  const { kind, hops, amountIn, amountOut, limit } = leg
  const [first, second] = hops
  requireAmounts(leg)
  const amount = exactOutput ? amountOut : amountIn
  if (kind === 'v2') {
    if (exactOutput) throw new Error('this router gives no exact output of a V2 pair')
    return ROUTER02.encodeFunctionData('swapExactTokensForTokens', [amount, limit, tokensOf(hops), recipient])
  }
  if (first !== undefined && second === undefined) {
    const single = [first.from, first.to, first.feePpm, recipient, amount, limit, 0n]
    return ROUTER02.encodeFunctionData(exactOutput ? 'exactOutputSingle' : 'exactInputSingle', [single])
  }
  const path = `0x${packPath(hops, exactOutput)}`
  return ROUTER02.encodeFunctionData(exactOutput ? 'exactOutput' : 'exactInput', [[path, recipient, amount, limit]])
}

/**
 * The swap of one leg by a V2 router. An exact input compares what the wallet received with the minimum, which the
 * plain functions of the router do not: they compare what the pool computed, which a token with a transfer fee lowers.
 */
export function encodeV2Swap(swap: RouterSwap, leg: RouterLeg): ContractCallData {
  const { router, exactOutput, native, wallet, deadline } = swap
  const { hops, amountIn, amountOut, limit } = leg
  requireAmounts(leg)
  const path = tokensOf(hops)
  const name = exactOutput
    ? { in: 'swapETHForExactTokens', out: 'swapTokensForExactETH', none: 'swapTokensForExactTokens' }
    : {
        in: 'swapExactETHForTokensSupportingFeeOnTransferTokens',
        out: 'swapExactTokensForETHSupportingFeeOnTransferTokens',
        none: 'swapExactTokensForTokensSupportingFeeOnTransferTokens',
      }
  // With the native currency, the value of the call is the amount that comes in.
  const bound = native === 'in' ? [exactOutput ? amountOut : limit] : [exactOutput ? amountOut : amountIn, limit]
  const data = V2_ROUTER.encodeFunctionData(name[native ?? 'none'], [...bound, path, wallet, deadline])
  return { to: router, value: native === 'in' ? mostIn(leg, exactOutput) : 0n, data }
}

/** Wraps the native currency. @param amount wei */
export function encodeWrap(contract: string, amount: bigint): ContractCallData {
  return { to: contract, value: amount, data: DEPOSIT }
}

export function encodeUnwrap(contract: string, amount: bigint): ContractCallData {
  return { to: contract, value: 0n, data: WITHDRAW + uintWord(amount) }
}

function tokensOf(hops: RouterLeg['hops']): readonly string[] {
  return [...hops.slice(0, 1).map(({ from }) => from), ...hops.map(({ to }) => to)]
}

function mostIn({ amountIn, limit }: RouterLeg, exactOutput: boolean): bigint {
  return exactOutput ? limit : amountIn
}

function requireAmounts({ amountIn, amountOut, limit }: RouterLeg): void {
  if (amountIn <= 0n || amountOut <= 0n || limit <= 0n) throw new Error('the amounts of a leg must be positive')
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
