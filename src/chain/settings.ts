/** The settings of a chain: built by the configuration, read by everything in this folder. */
import type { ChainKey } from '../core/networks.ts'

export type TokenSetting = {
  readonly symbol: string
  /** EIP-55. */
  readonly address: string
  readonly decimals: number
}

/** What capabilities add: each `settings.ts` merges its part (`declare module '../chain/settings.ts' { … }`). */
// biome-ignore lint/suspicious/noEmptyInterface: declarations are merged into it.
export interface CapabilityChainSettings {}

export type ChainSettings = CapabilityChainSettings &
  ChainKey & {
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
    /** The only URLs that get the bytes of kinds that relays send; absent where the nodes get them. They may contain keys. */
    readonly relayUrls?: readonly string[]
  }

/** What nodes, and proxies in front of them, accept in one body. */
export type RpcBatchLimits = {
  readonly maxCalls: number
  /** A single request may be larger. */
  readonly maxBytes: number
}
