/** The chains that Bursar supports. */

export const NETWORKS = ['ethereum', 'polygon', 'binance'] as const
export type Network = (typeof NETWORKS)[number]

export const ENVIRONMENTS = ['mainnet', 'testnet'] as const
export type Environment = (typeof ENVIRONMENTS)[number]

/** Symbol of the currency that pays for gas. All three have 18 decimals. */
export const NATIVE_SYMBOL: Readonly<Record<Network, string>> = { ethereum: 'ETH', polygon: 'POL', binance: 'BNB' }
export const NATIVE_DECIMALS = 18

/** CAIP-2 references (the `eip155` chain id) of the public chains. */
export const PUBLIC_CHAIN_IDS: Readonly<Record<Environment, Readonly<Record<Network, number>>>> = {
  mainnet: { ethereum: 1, polygon: 137, binance: 56 },
  testnet: { ethereum: 11155111, polygon: 80002, binance: 97 },
}

/** One chain: a network in an environment. */
export type ChainKey = { readonly network: Network; readonly environment: Environment }
