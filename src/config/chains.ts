/** Builds the settings of each configured chain from the environment and the known facts of the public chains. */
import { parseAddress } from '../chain/address.ts'
import { MULTICALL3_ADDRESS, PUBLIC_CONTRACTS, type PublicContracts } from '../chain/public-networks.ts'
import type { ChainSettings, TokenSetting } from '../chain/settings.ts'
import { ValidationFailed } from '../core/errors.ts'
import { largest } from '../core/money.ts'
import { type ChainKey, ENVIRONMENTS, NETWORKS, type Network, PUBLIC_CHAIN_IDS } from '../core/networks.ts'
import type { DeclaredSettings } from './declare-settings.ts'

const GWEI = 1_000_000_000n

type Defaults = {
  readonly confirmations: number
  readonly minTipWei: bigint
  readonly maxTipWei: bigint
  readonly maxFeePerGasWei: bigint
  readonly pollIntervalMs: number
}

const DEFAULTS: Readonly<Record<Network, Defaults>> = {
  ethereum: {
    confirmations: 32,
    minTipWei: GWEI / 10n,
    maxTipWei: 20n * GWEI,
    maxFeePerGasWei: 500n * GWEI,
    pollIntervalMs: 3_000,
  },
  polygon: {
    confirmations: 30,
    minTipWei: 25n * GWEI,
    maxTipWei: 500n * GWEI,
    maxFeePerGasWei: 5_000n * GWEI,
    pollIntervalMs: 1_000,
  },
  binance: {
    confirmations: 15,
    minTipWei: GWEI / 20n,
    maxTipWei: 20n * GWEI,
    maxFeePerGasWei: 100n * GWEI,
    pollIntervalMs: 750,
  },
}
const TESTNET_CONFIRMATIONS = 12

/** For a private chain: the contract addresses of the public one do not apply. */
const UNKNOWN_CONTRACTS: PublicContracts = { priceFeeds: {}, tokens: [] }

/** The settings of one chain; undefined where unset. */
export type ChainInput = {
  readonly RPC_URLS?: readonly string[]
  readonly RPC_QUORUM?: number
  readonly CHAIN_ID?: number
  readonly CONFIRMATIONS?: number
  readonly MIN_TIP_WEI?: string
  readonly MAX_TIP_WEI?: string
  readonly MAX_FEE_PER_GAS_WEI?: string
  readonly POLL_INTERVAL_MS?: number
  readonly MULTICALL3_ADDRESS?: string
  readonly PRICE_FEEDS?: readonly string[]
  readonly TOKENS?: readonly string[]
}

export const CHAIN_KEYS: readonly ChainKey[] = ENVIRONMENTS.flatMap((environment) =>
  NETWORKS.map((network) => ({ network, environment })),
)

/** The prefix of a chain's settings: `ETHEREUM_`, `POLYGON_TESTNET_`. */
export function settingPrefix({ network, environment }: ChainKey): string {
  return `${network.toUpperCase()}_${environment === 'testnet' ? 'TESTNET_' : ''}`
}

/**
 * @param declared the settings of capabilities, whose values are in the input too
 * @returns null for a chain without nodes
 * @throws ValidationFailed for an address with a wrong checksum, with the name of the setting as its field
 */
export function chainSettings(
  key: ChainKey,
  input: ChainInput,
  declared: readonly DeclaredSettings[],
): ChainSettings | null {
  if (input.RPC_URLS === undefined || input.RPC_URLS.length === 0) return null
  const { network, environment } = key
  const prefix = settingPrefix(key)
  const publicChainId = PUBLIC_CHAIN_IDS[environment][network]
  const chainId = input.CHAIN_ID ?? publicChainId
  const isPublic = chainId === publicChainId
  const known = isPublic ? PUBLIC_CONTRACTS[environment][network] : UNKNOWN_CONTRACTS
  const defaults = DEFAULTS[network]
  const minTipWei = input.MIN_TIP_WEI === undefined ? defaults.minTipWei : BigInt(input.MIN_TIP_WEI)
  const multicall3 = input.MULTICALL3_ADDRESS
  const ofCapabilities = declared.map(({ readChain }) => readChain?.(input as never, { ...key, prefix, isPublic }))
  return {
    network,
    environment,
    chainId,
    ...(isPublic ? { finalizes: true } : {}),
    rpcUrls: input.RPC_URLS,
    ...(input.RPC_QUORUM === undefined ? {} : { rpcQuorum: quorumOf(input.RPC_QUORUM, input.RPC_URLS, prefix) }),
    confirmations: input.CONFIRMATIONS ?? (environment === 'testnet' ? TESTNET_CONFIRMATIONS : defaults.confirmations),
    minTipWei,
    maxTipWei: input.MAX_TIP_WEI === undefined ? largest(defaults.maxTipWei, minTipWei) : BigInt(input.MAX_TIP_WEI),
    maxFeePerGasWei:
      input.MAX_FEE_PER_GAS_WEI === undefined ? defaults.maxFeePerGasWei : BigInt(input.MAX_FEE_PER_GAS_WEI),
    pollIntervalMs: input.POLL_INTERVAL_MS ?? defaults.pollIntervalMs,
    multicall3Address:
      multicall3 === undefined
        ? isPublic
          ? MULTICALL3_ADDRESS
          : null
        : parseAddress(multicall3, `${prefix}MULTICALL3_ADDRESS`),
    priceFeeds: input.PRICE_FEEDS === undefined ? known.priceFeeds : feedsOf(input.PRICE_FEEDS, `${prefix}PRICE_FEEDS`),
    tokens: input.TOKENS === undefined ? known.tokens : input.TOKENS.map((token) => tokenOf(token, `${prefix}TOKENS`)),
    ...(Object.assign({}, ...ofCapabilities) as Partial<ChainSettings>),
  }
}

function quorumOf(quorum: number, urls: readonly string[], prefix: string): number {
  const hosts = new Set(urls.map((url) => new URL(url).host)).size
  if (quorum <= hosts) return quorum
  throw ValidationFailed.field(
    `${prefix}RPC_QUORUM`,
    'quorum_too_high',
    `must be at most the number of hosts in ${prefix}RPC_URLS, which is ${hosts}: name more nodes, or lower it.`,
  )
}

function feedsOf(feeds: readonly string[], setting: string): Record<string, string> {
  return Object.fromEntries(
    feeds.map((feed) => {
      const [symbol = '', address = ''] = feed.split('=')
      return [symbol, parseAddress(address, setting)]
    }),
  )
}

function tokenOf(token: string, setting: string): TokenSetting {
  const [symbol = '', address = '', decimals = ''] = token.split(':')
  return { symbol, address: parseAddress(address, setting), decimals: Number(decimals) }
}
