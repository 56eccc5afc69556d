/**
 * The three local chains of the sandbox. Their chain ids are unique, so that nothing signed here is valid elsewhere.
 */
import { NATIVE_SYMBOL, type Network } from '../core/networks.ts'
import { ADDITIONS } from './additions.ts'
import type { ChainSetup } from './chain-setup.ts'

export const SANDBOX_CHAIN_IDS: Readonly<Record<Network, number>> = {
  ethereum: 1_000_001,
  polygon: 1_000_137,
  binance: 1_000_056,
}

/** Local blocks become final quickly. */
const CONFIRMATIONS = '2'
/** A local node is polled often, so that changes show quickly. */
const POLL_INTERVAL_MS = '200'

export type SandboxChain = ChainSetup & { readonly network: Network; readonly url: string }

/** The settings of a chain for the processes of the sandbox. */
export function chainEnv({ network, url, contracts, added }: SandboxChain): Record<string, string> {
  const prefix = network.toUpperCase()
  const native = NATIVE_SYMBOL[network]
  const { usdc, usdt, wrappedNative, nativeFeed, usdcFeed, usdtFeed } = contracts
  return {
    [`${prefix}_RPC_URLS`]: url,
    [`${prefix}_CHAIN_ID`]: String(SANDBOX_CHAIN_IDS[network]),
    [`${prefix}_CONFIRMATIONS`]: CONFIRMATIONS,
    [`${prefix}_POLL_INTERVAL_MS`]: POLL_INTERVAL_MS,
    [`${prefix}_MULTICALL3_ADDRESS`]: contracts.multicall3,
    [`${prefix}_TOKENS`]: `USDC:${usdc}:6,USDT:${usdt}:6,W${native}:${wrappedNative}:18`,
    [`${prefix}_PRICE_FEEDS`]: `${native}=${nativeFeed},USDC=${usdcFeed},USDT=${usdtFeed},W${native}=${nativeFeed}`,
    ...Object.fromEntries(
      ADDITIONS.flatMap(({ chainEnv }) =>
        Object.entries(chainEnv?.(contracts, added) ?? {}).map(([setting, value]) => [`${prefix}_${setting}`, value]),
      ),
    ),
  }
}
