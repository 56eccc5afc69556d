/** All assets that a tenant may name on one chain, by symbol, contract and id. */

import type { ChainSettings } from '../chain/settings.ts'
import { type Asset, nativeAsset, tokenAsset } from '../core/assets.ts'
import type { Network } from '../core/networks.ts'

/** The source of an asset's metadata: the chain, the operator, or the tenant. */
export type AssetSource = 'native' | 'configured' | 'registered'

export type KnownAsset = Asset & { readonly name: string; readonly source: AssetSource }

/** A chain with the tokens that its operator configured. */
export type AssetChain = Pick<ChainSettings, 'network' | 'environment' | 'chainId' | 'tokens'>

export type AssetIndex = {
  /** The native currency first, then configured tokens, then registered ones, oldest first. */
  readonly all: readonly KnownAsset[]
  /** Assets with exactly this symbol; if there are none, those that differ only in case. */
  readonly bySymbol: (symbol: string) => readonly KnownAsset[]
  /** @param contract EIP-55 */
  readonly byContract: (contract: string) => KnownAsset | undefined
  readonly byId: (assetId: string) => KnownAsset | undefined
}

const NATIVE_NAMES: Readonly<Record<Network, string>> = { ethereum: 'Ether', polygon: 'POL', binance: 'BNB' }
/** Polygon's currency was called MATIC before POL: both symbols mean the same. */
const FORMER_SYMBOLS: Readonly<Partial<Record<Network, string>>> = { polygon: 'MATIC' }

/** @param registered by the tenant; a token that is also configured is left out: the configuration takes precedence */
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
  // No token can take the symbol of the currency that pays for gas.
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
