/**
 * The three local chains of the sandbox. Their chain ids are unique, so that nothing signed here is valid elsewhere.
 */
import { NATIVE_SYMBOL, type Network } from '../core/networks.ts'
import type { ChainContracts } from './chain-setup.ts'

export const SANDBOX_CHAIN_IDS: Readonly<Record<Network, number>> = {
  ethereum: 1_000_001,
  polygon: 1_000_137,
  binance: 1_000_056,
}

/** Local blocks become final quickly. */
const CONFIRMATIONS = '2'
/** A local node is polled often, so that changes show quickly. */
const POLL_INTERVAL_MS = '200'

export type SandboxChain = { readonly network: Network; readonly url: string; readonly contracts: ChainContracts }

/** The settings of a chain for the processes of the sandbox. */
export function chainEnv({ network, url, contracts }: SandboxChain): Record<string, string> {
  const prefix = network.toUpperCase()
  return {
    [`${prefix}_RPC_URLS`]: url,
    [`${prefix}_CHAIN_ID`]: String(SANDBOX_CHAIN_IDS[network]),
    [`${prefix}_CONFIRMATIONS`]: CONFIRMATIONS,
    [`${prefix}_POLL_INTERVAL_MS`]: POLL_INTERVAL_MS,
    [`${prefix}_MULTICALL3_ADDRESS`]: contracts.multicall3,
    [`${prefix}_TOKENS`]: `USDC:${contracts.usdc}:6`,
    [`${prefix}_PRICE_FEEDS`]: `${NATIVE_SYMBOL[network]}=${contracts.nativeFeed},USDC=${contracts.usdcFeed}`,
  }
}
