/** Tokens of tests on exchanges: each with a V2 pair with 1,000 of the native currency. */
import { Interface } from 'ethers/abi'
import { toChecksumAddress } from '../../src/chain/address.ts'
import type { ExchangeChain } from './exchanges.ts'
import { ALICE, COIN, mined, TOKEN } from './swap-stage.ts'

const ROUTER = new Interface([
  'function addLiquidity(address a, address b, uint256 amountA, uint256 amountB, uint256 minA, uint256 minB, address to, uint256 deadline)',
  'function addLiquidityETH(address token, uint256 amount, uint256 min, uint256 minEth, address to, uint256 deadline) payable',
])

/** Alice deploys a token, which gives her its supply, and its pair with this many base units. @returns the token */
export async function deployPair(
  { url, exchanges: { v2Router } }: Pick<ExchangeChain, 'url' | 'exchanges'>,
  bytecode: string,
  tokens: bigint,
): Promise<string> {
  const { contractAddress } = await mined(url, { from: ALICE, data: bytecode })
  const token = toChecksumAddress(contractAddress ?? '')
  await mined(url, { from: ALICE, to: token, data: TOKEN.encodeFunctionData('approve', [v2Router, tokens]) })
  const data = ROUTER.encodeFunctionData('addLiquidityETH', [token, tokens, 0n, 0n, ALICE, 2n ** 40n])
  const value = `0x${(1_000n * COIN).toString(16)}`
  const { status } = await mined(url, { from: ALICE, to: v2Router, data, value })
  if (status !== '0x1') throw new Error('the pair was not made')
  return token
}

/** Alice makes the V2 pair of two tokens that she has. */
export async function deployTokenPair(
  { url, exchanges: { v2Router } }: Pick<ExchangeChain, 'url' | 'exchanges'>,
  [a, amountA]: readonly [string, bigint],
  [b, amountB]: readonly [string, bigint],
): Promise<void> {
  for (const [token, amount] of [
    [a, amountA],
    [b, amountB],
  ] as const)
    await mined(url, { from: ALICE, to: token, data: TOKEN.encodeFunctionData('approve', [v2Router, amount]) })
  const data = ROUTER.encodeFunctionData('addLiquidity', [a, b, amountA, amountB, 0n, 0n, ALICE, 2n ** 40n])
  const { status } = await mined(url, { from: ALICE, to: v2Router, data })
  if (status !== '0x1') throw new Error('the pair was not made')
}
