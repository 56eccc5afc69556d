/** The settings of a chain: built by the configuration, read by everything in this folder. */
import type { ChainKey } from '../core/networks.ts'

export type TokenSetting = {
  readonly symbol: string
  /** EIP-55. */
  readonly address: string
  readonly decimals: number
}

export type VenueSettings = {
  /** For responses and metrics. */
  readonly name: string
  /** Uniswap V2 or V3, or an exchange with the same contracts. */
  readonly kind: 'v2' | 'v3'
  /** A V2 router, or SwapRouter02. EIP-55, as all addresses here. */
  readonly router: string
  /** QuoterV2; the router itself for V2. */
  readonly quoter: string
  /** Fees of the pools, in millionths; none for V2. */
  readonly tiers: readonly number[]
}

/** What the call data of a hosted source may do. EIP-55. */
export type SourceSettings = {
  /** Contracts that it may call. */
  readonly targets: readonly string[]
  /** Contracts that may get an allowance for it. */
  readonly spenders: readonly string[]
}

export type SwapSettings = {
  readonly venues: readonly VenueSettings[]
  readonly wrappedNative: string
  /** Tokens that a route may pass through, beside the wrapped native token. */
  readonly hops: readonly string[]
  /** Absent where no hosted source may be used. */
  readonly source?: SourceSettings
}

export type ChainSettings = ChainKey & {
  readonly chainId: number
  /** In order of preference. They may contain keys: never log them. */
  readonly rpcUrls: readonly string[]
  /** How many hosts of these URLs must say the same; by default more than half. */
  readonly rpcQuorum?: number
  /** True where a reorg never goes below the block that nodes call final; not on private chains. */
  readonly finalizes?: boolean
  /** Blocks from a transaction's block to the newest, both included, until the transaction is settled. */
  readonly confirmations: number
  /** The lowest tip that the network's nodes accept, wei per gas. */
  readonly minTipWei: bigint
  /** The highest tip that is offered, wei per gas. */
  readonly maxTipWei: bigint
  /** The hard cap, wei per gas. */
  readonly maxFeePerGasWei: bigint
  readonly pollIntervalMs: number
  readonly multicall3Address: string | null
  /** Chainlink feeds in US dollars, by asset symbol. */
  readonly priceFeeds: Readonly<Record<string, string>>
  readonly tokens: readonly TokenSetting[]
  /** Absent where swaps are not configured. */
  readonly swaps?: SwapSettings
  /** The only URLs that get the bytes of swaps; absent where the nodes get them. They may contain keys. */
  readonly swapRpcUrls?: readonly string[]
}

/** What nodes, and proxies in front of them, accept in one body. */
export type RpcBatchLimits = {
  readonly maxCalls: number
  /** A single request may be larger. */
  readonly maxBytes: number
}
