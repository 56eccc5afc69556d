/** The part of a chain that balances use: reading it, and the tokens configured for all tenants. */
import type { ChainClient } from '../chain/client-set.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type Asset, nativeAsset, tokenAsset } from '../core/assets.ts'
import { Unavailable } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'

export type BalanceChain = ChainKey & {
  readonly chainId: number
  /** What a quorum of the nodes says alike, as of `foreign`. */
  readonly client: RpcReader
  /** For third-party token contracts: separate connections and limits, so that they cannot affect other reads. */
  readonly foreign: RpcReader
  /** `null` if the chain has no Multicall3. */
  readonly multicall3: string | null
  /** Configured by the operator; tenants can register others for themselves. */
  readonly tokens: readonly Asset[]
}

/** @throws Unavailable `network_not_configured` when no node of that chain is configured any more */
export type BalanceChainOf = (chainId: number) => BalanceChain

/** The configured chains as balances use them. */
export function createBalanceChains(
  clients: readonly Pick<ChainClient, 'settings' | 'agreed' | 'foreign'>[],
): BalanceChainOf {
  const chains = new Map(
    clients.map(({ settings, agreed: client, foreign }) => {
      const { network, environment, chainId, multicall3Address: multicall3 } = settings
      const tokens = settings.tokens.map((token) => tokenAsset(chainId, token.address, token.symbol, token.decimals))
      return [chainId, { network, environment, chainId, client, foreign, multicall3, tokens }]
    }),
  )
  return (chainId) => {
    const chain = chains.get(chainId)
    if (chain !== undefined) return chain
    throw new Unavailable('network_not_configured', `No RPC URL is configured for chain ${chainId}.`)
  }
}

/** The row of `assets` for a registered token; nulls when the tenant did not register it. */
export type RegisteredToken = OrNull<Pick<Row<'assets'>, 'asset_id' | 'contract_address' | 'symbol' | 'decimals'>>

/** A wallet whose address is known. */
export type HolderRow = Pick<Row<'wallets', { readonly address: string }>, 'wallet_id' | 'tenant_id' | 'address'>

export function holderOf(row: HolderRow): { walletId: string; tenantId: string; address: string } {
  return { walletId: row.wallet_id, tenantId: row.tenant_id, address: row.address }
}

/** The CAIP-2 prefix of the asset ids (CAIP-19) of a chain. */
export function chainPrefix(chainId: number): string {
  return `eip155:${chainId}`
}

export function nativeOf({ network, chainId }: BalanceChain): Asset {
  return nativeAsset(network, chainId)
}

/** The token of a contract, configured or else registered; `null` when neither. @param contract in lower case */
export function tokenOf(chain: BalanceChain, contract: string, registered: RegisteredToken): Asset | null {
  return chain.tokens.find((token) => token.contract?.toLowerCase() === contract) ?? asRegistered(registered)
}

/** The asset of a recorded balance; `null` for a token that is no longer configured or registered. */
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
