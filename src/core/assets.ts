/** Identifiers of assets: CAIP-19 over CAIP-2 chain ids. */
import { NATIVE_DECIMALS, NATIVE_SYMBOL, type Network } from './networks.ts'

export type Asset = {
  /** CAIP-19: `eip155:1/slip44:60`, `eip155:1/erc20:0x…`. */
  readonly assetId: string
  readonly symbol: string
  readonly decimals: number
  /** The ERC-20 contract, EIP-55; `null` for the native currency. */
  readonly contract: string | null
}

/** SLIP-44 coin types of the native currencies. */
const SLIP44: Readonly<Record<Network, number>> = { ethereum: 60, polygon: 966, binance: 714 }

/** The currency that pays for gas on a chain. */
export function nativeAsset(network: Network, chainId: number): Asset {
  return {
    assetId: `eip155:${chainId}/slip44:${SLIP44[network]}`,
    symbol: NATIVE_SYMBOL[network],
    decimals: NATIVE_DECIMALS,
    contract: null,
  }
}

/** An ERC-20 token. @param contract EIP-55 checksummed */
export function tokenAsset(chainId: number, contract: string, symbol: string, decimals: number): Asset {
  return { assetId: `eip155:${chainId}/erc20:${contract}`, symbol, decimals, contract }
}
