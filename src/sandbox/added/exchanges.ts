/**
 * The exchanges of a local chain: the unmodified contracts of Uniswap V2 and V3 from their npm packages, with the init
 * code hashes of the public chains. The packages are development dependencies under the GPL: the image and
 * `npm ci --omit=dev` do not have them.
 */
import { readFileSync } from 'node:fs'
import { ZeroAddress } from 'ethers/constants'
import { mapValues } from '../../core/map-values.ts'
import { type Deployment, OWNER, planDeployment } from '../deploy.ts'

/** Addresses by contract. `swapRouter` is SwapRouter02, which trades on V2 pairs and V3 pools. */
export type Exchanges = {
  readonly v2Factory: string
  readonly v2Router: string
  readonly v3Factory: string
  readonly positionManager: string
  readonly swapRouter: string
  readonly quoter: string
}

const FILES: Readonly<Record<keyof Exchanges, string>> = {
  v2Factory: '@uniswap/v2-core/build/UniswapV2Factory.json',
  v2Router: '@uniswap/v2-periphery/build/UniswapV2Router02.json',
  v3Factory: '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  positionManager:
    '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
  swapRouter: '@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json',
  quoter: '@uniswap/swap-router-contracts/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json',
}

/**
 * @param packages finds the packages
 * @returns null without the packages
 */
export function planExchanges(
  wrappedNative: string,
  packages: NodeJS.Require,
): Readonly<Record<keyof Exchanges, Deployment>> | null {
  const codes = readCodes(packages)
  if (codes === null) return null
  const plan = (name: keyof Exchanges, ...addresses: readonly string[]) => {
    const types = addresses.map(() => 'address')
    return planDeployment(codes[name], types, addresses)
  }
  const v2Factory = plan('v2Factory', OWNER)
  const v3Factory = plan('v3Factory')
  const [v2, v3] = [v2Factory.address, v3Factory.address]
  // No descriptor: only the pictures of positions need it.
  const positionManager = plan('positionManager', v3, wrappedNative, ZeroAddress)
  return {
    v2Factory,
    v2Router: plan('v2Router', v2, wrappedNative),
    v3Factory,
    positionManager,
    swapRouter: plan('swapRouter', v2, v3, positionManager.address, wrappedNative),
    quoter: plan('quoter', v3, wrappedNative),
  }
}

function readCodes(packages: NodeJS.Require): Readonly<Record<keyof Exchanges, string>> | null {
  try {
    return mapValues(FILES, (file) => {
      const { bytecode } = JSON.parse(readFileSync(packages.resolve(file), 'utf8')) as { readonly bytecode: string }
      return bytecode.startsWith('0x') ? bytecode : `0x${bytecode}`
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
