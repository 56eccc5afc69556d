/** The events of a tenant's token: registered, with the metadata of its contract at that time, and removed. */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

export type AssetRegistered = Event<
  'AssetRegistered',
  {
    /** CAIP-19. */
    assetId: string
    network: Network
    environment: Environment
    chainId: number
    /** EIP-55. */
    contractAddress: string
    symbol: string
    name: string
    decimals: number
    registeredAt: string
  }
>

/**
 * The tenant removed it: it cannot be named, and its balances are not read for the tenant. It may be registered again.
 */
export type AssetRemoved = Event<
  'AssetRemoved',
  {
    /** CAIP-19. */
    assetId: string
    chainId: number
    /** EIP-55. */
    contractAddress: string
    removedAt: string
  }
>

export type AssetEvent = AssetRegistered | AssetRemoved
