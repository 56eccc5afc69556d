/** All assets that a tenant may name on one chain, found by symbol, by contract and by id. */

import type { ChainSettings } from '../chain/settings.ts'
import { type Asset, nativeAsset, tokenAsset } from '../core/assets.ts'
import type { Network } from '../core/networks.ts'

/** Who says that an asset is what it claims to be: the chain, the operator, or the tenant. */
export type AssetSource = 'native' | 'configured' | 'registered'

export type KnownAsset = Asset & { readonly name: string; readonly source: AssetSource }

/** A chain with the tokens that its operator configured. */
export type AssetChain = Pick<ChainSettings, 'network' | 'environment' | 'chainId' | 'tokens'>

export type AssetIndex = {
  /** The native currency first, then what is configured, then what is registered, oldest first. */
  readonly all: readonly KnownAsset[]
  /** Those with exactly this symbol; if there are none, those that differ by case alone. */
  readonly bySymbol: (symbol: string) => readonly KnownAsset[]
  /** @param contract EIP-55 */
  readonly byContract: (contract: string) => KnownAsset | undefined
  readonly byId: (assetId: string) => KnownAsset | undefined
}

const NATIVE_NAMES: Readonly<Record<Network, string>> = { ethereum: 'Ether', polygon: 'POL', binance: 'BNB' }
/** Polygon's currency was called MATIC before it was called POL: both mean the same. */
const FORMER_SYMBOLS: Readonly<Partial<Record<Network, string>>> = { polygon: 'MATIC' }

/** @param registered by the tenant; one that is also configured is left out: the operator's word counts */
export function createAssetIndex(chain: AssetChain, registered: readonly KnownAsset[]): AssetIndex {
  const native: KnownAsset = {
    ...nativeAsset(chain.network, chain.chainId),
    name: NATIVE_NAMES[chain.network],
    source: 'native',
  }
  const configured = chain.tokens.map(({ symbol, address, decimals }): KnownAsset => {
    return { ...tokenAsset(chain.chainId, address, symbol, decimals), name: symbol, source: 'configured' }
  })
  const ids = new Map([...registered, ...configured, native].map((asset) => [asset.assetId, asset]))
  const all = [native, ...configured, ...registered].filter((asset) => ids.get(asset.assetId) === asset)
  const contracts = new Map(all.map((asset) => [asset.contract, asset]))
  const symbols = new Map<string, KnownAsset[]>()
  for (const asset of all) {
    const symbol = asset.symbol.toUpperCase()
    symbols.set(symbol, [...(symbols.get(symbol) ?? []), asset])
  }
  // Nothing that somebody deploys can take the name of the currency that pays for gas.
  for (const symbol of [native.symbol, FORMER_SYMBOLS[chain.network] ?? native.symbol]) symbols.set(symbol, [native])

  return {
    all,
    bySymbol(symbol) {
      const alike = symbols.get(symbol.toUpperCase()) ?? []
      const exact = alike.filter((asset) => asset.symbol === symbol)
      return exact.length > 0 ? exact : alike
    },
    byContract: (contract) => contracts.get(contract),
    byId: (assetId) => ids.get(assetId),
  }
}
