/** The settings of a chain: built by the configuration, read by everything in this folder. */
import type { ChainKey } from '../core/networks.ts'

export type TokenSetting = {
  readonly symbol: string
  /** EIP-55. */
  readonly address: string
  readonly decimals: number
}

export type ChainSettings = ChainKey & {
  readonly chainId: number
  /** In order of preference. They may contain keys: never log them. */
  readonly rpcUrls: readonly string[]
  /** Blocks from a transaction's block to the newest, both included, until the transaction is settled. */
  readonly confirmations: number
  /** The lowest tip that the network's nodes accept, wei per gas. */
  readonly minTipWei: bigint
  /** The hard cap, wei per gas. */
  readonly maxFeePerGasWei: bigint
  readonly pollIntervalMs: number
  readonly multicall3Address: string | null
  /** Chainlink feeds in US dollars, by asset symbol. */
  readonly priceFeeds: Readonly<Record<string, string>>
  readonly tokens: readonly TokenSetting[]
}

/** What nodes, and proxies in front of them, accept in one body. */
export type RpcBatchLimits = {
  readonly maxCalls: number
  /** A single request may be larger. */
  readonly maxBytes: number
}
