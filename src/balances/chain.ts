/** What balances need of a chain: a way to read it, and the tokens that every tenant sees there. */
import type { ChainClient } from '../chain/client-set.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type Asset, nativeAsset, tokenAsset } from '../core/assets.ts'
import { Unavailable } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'

export type BalanceChain = ChainKey & {
  readonly chainId: number
  readonly client: RpcReader
  /** For the contracts of tokens, which strangers wrote: what they do to it stays with it. */
  readonly foreign: RpcReader
  /** `null` if the chain has no Multicall3. */
  readonly multicall3: string | null
  /** Configured by the operator; tenants register others for themselves. */
  readonly tokens: readonly Asset[]
}

/** @throws Unavailable `network_not_configured` when no node of that chain is configured any more */
export type BalanceChainOf = (chainId: number) => BalanceChain

/** The chains of the configuration, as balances see them. */
export function createBalanceChains(
  clients: readonly Pick<ChainClient, 'settings' | 'client' | 'foreign'>[],
): BalanceChainOf {
  const chains = new Map(
    clients.map(({ settings, client, foreign }) => {
      const { network, environment, chainId, multicall3Address: multicall3 } = settings
      const tokens = settings.tokens.map((token) => tokenAsset(chainId, token.address, token.symbol, token.decimals))
      return [chainId, { network, environment, chainId, client, foreign, multicall3, tokens }]
    }),
  )
  return (chainId) => {
    const chain = chains.get(chainId)
    if (chain !== undefined) return chain
    throw new Unavailable('network_not_configured', `No RPC URL of the chain ${chainId} is configured.`)
  }
}

/** The row of `assets` for what a tenant registered; nulls where the tenant did not. */
export type RegisteredToken = {
  readonly asset_id: string | null
  readonly contract_address: string | null
  readonly symbol: string | null
  readonly decimals: number | null
}

/** The CAIP-2 id that begins the asset ids (CAIP-19) of a chain. */
export function chainPrefix(chainId: number): string {
  return `eip155:${chainId}`
}

export function nativeOf({ network, chainId }: BalanceChain): Asset {
  return nativeAsset(network, chainId)
}

/** The token of a contract, as configured or else as registered; `null` when it is neither. @param contract in lower case */
export function tokenOf(chain: BalanceChain, contract: string, registered: RegisteredToken): Asset | null {
  return chain.tokens.find((token) => token.contract?.toLowerCase() === contract) ?? asRegistered(registered)
}

/** The asset of a recorded balance; `null` for a token that is neither configured nor registered any more. */
export function assetOf(chain: BalanceChain, row: RegisteredToken & { readonly asset_id: string }): Asset | null {
  const native = nativeOf(chain)
  if (row.asset_id === native.assetId) return native
  return chain.tokens.find((token) => token.assetId === row.asset_id) ?? asRegistered(row)
}

function asRegistered({
  asset_id: assetId,
  contract_address: contract,
  symbol,
  decimals,
}: RegisteredToken): Asset | null {
  if (assetId === null || contract === null || symbol === null || decimals === null) return null
  return { assetId, contract, symbol, decimals }
}
