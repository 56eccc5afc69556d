/** What a chain needs to be spoken to: built by the configuration, read by everything in this folder. */
import type { ChainKey } from '../core/networks.ts'

export type TokenSetting = {
  readonly symbol: string
  /** EIP-55. */
  readonly address: string
  readonly decimals: number
}

export type ChainSettings = ChainKey & {
  readonly chainId: number
  /** In order of preference. They may hold keys: never log them. */
  readonly rpcUrls: readonly string[]
  /** Blocks on top of a transaction's block, that block included, until it counts as final. */
  readonly confirmations: number
  /** The least tip that the network's nodes take, wei per gas. */
  readonly minTipWei: bigint
  /** The hard cap, wei per gas. */
  readonly maxFeePerGasWei: bigint
  readonly pollIntervalMs: number
  readonly multicall3Address: string | null
  /** Chainlink feeds in US dollars, by asset symbol. */
  readonly priceFeeds: Readonly<Record<string, string>>
  readonly tokens: readonly TokenSetting[]
}

/** What nodes, and proxies before them, take in one body. */
export type RpcBatchLimits = {
  readonly maxCalls: number
  /** A single request may be larger. */
  readonly maxBytes: number
}
