/** The one fact of a registered asset: what its contract said of itself when a tenant registered it. */
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

export type AssetEvent = AssetRegistered
