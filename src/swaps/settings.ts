/**
 * The settings of swaps: the exchanges of each chain, its wrapped native token, and tokens that routes pass through; the hosted source of
 * quotes, which is off unless it is set, and what its call data may do on each chain.
 */
import { Type } from '@sinclair/typebox'
import { parseAddress } from '../chain/address.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { type ConfiguredChain, declareSettings } from '../config/declare-settings.ts'
import { ruleOf } from '../config/read-setting.ts'
import { list, milliseconds, text } from '../config/schema-kinds.ts'
import { ValidationFailed } from '../core/errors.ts'
import {
  PUBLIC_EXCHANGES,
  type SourceSettings,
  type SwapSettings,
  USUAL_TIERS,
  type VenueSettings,
} from './exchange-settings.ts'

const ADDRESS = '0x[0-9a-fA-F]{40}'
/** A fee tier of Uniswap V3 is a uint24, in millionths. */
const TIER = '[1-9][0-9]{0,5}'
const VENUE = `[a-z0-9][a-z0-9-]{0,31}:(v2:${ADDRESS}|v3:${ADDRESS}:${ADDRESS}(:${TIER}(\\+${TIER})*)?)`
/** Each adds up to six pools and quotes to every request. */
const MAX_HOPS = 6
const MAX_VENUES = 6

/** Settings of the whole installation. */
const SWAP_SETTINGS = {
  SWAP_QUOTE_TTL_MS: milliseconds(
    { minimum: 1_000, maximum: 10 * 60_000, default: 30_000 },
    'How long a swap can use a quote.',
  ),
  SWAP_MAX_SLIPPAGE_BPS: Type.Integer({
    minimum: 0,
    maximum: 5_000,
    default: 5_000,
    description: 'Maximum slippage that a request may accept, in hundredths of a percent.',
  }),
  SWAP_REQUIRE_FEEDS: Type.Boolean({
    default: false,
    description:
      'Whether swaps of an asset without a price feed are refused. Otherwise their quotes say so: nothing then shows whether the pools have the price of the market.',
  }),
}

/** Settings of one chain. */
const CHAIN_SWAP_SETTINGS = {
  SWAP_VENUES: list(
    `^(none|${VENUE})$`,
    'must be none or a comma-separated list of at most 6 exchanges: name:v2:0xrouter or name:v3:0xrouter02:0xquoter[:tier+tier…]',
    {
      description:
        'Exchanges for swaps: `name:v2:0xrouter` for Uniswap V2 and exchanges like it, `name:v3:0xrouter02:0xquoter` for SwapRouter02 and ' +
        'QuoterV2 of Uniswap V3, with the fee tiers in millionths after another colon if they are not `100+500+3000+10000`. `none` turns swaps off. ' +
        'Signers and mpc parties sign only swaps to exchanges of their own setting.',
      maxItems: MAX_VENUES,
      'x-default': 'public exchanges',
    },
  ),
  WRAPPED_NATIVE: text(`^${ADDRESS}$`, 'must be an address', {
    description: 'Address of the wrapped native token, such as WETH9. `SWAP_VENUES` needs it.',
    'x-default': 'of the public chain',
  }),
  SWAP_HOPS: list(`^${ADDRESS}$`, 'must be a comma-separated list of at most 6 addresses', {
    description: 'Tokens that the route of a swap may pass through, beside the wrapped native token.',
    maxItems: MAX_HOPS,
    'x-default': 'well-known tokens',
  }),
  SWAP_RPC_URLS: list('^(https?)://.+', 'must be a comma-separated list of http:// or https:// URLs', {
    description:
      'URLs of private relays. A swap is sent to all of them that were set when it was requested, and to nothing else; everything else goes to the nodes. The API and the submitters need the same.',
    'x-secret': true,
  }),
}

const ADDRESSES = ['^0x[0-9a-fA-F]{40}$', 'must be a comma-separated list of at most 8 addresses'] as const
const MAX_PINS = 8

/** Settings of the whole installation. */
const SOURCE_SETTINGS = {
  SWAP_API_URL: text(
    '^(https://[^\\s/?#@"]+|http://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?)(/[^\\s?#@"]*)?$',
    'must be an https:// URL such as https://api.0x.org; http:// is allowed for localhost only',
    {
      description:
        'URL of the Swap API v2 of 0x, whose offers compete with the routes of `<NET>_SWAP_VENUES`. If it is not set, no server is asked. The server gets the address of the wallet, the assets and the amount of each quote.',
    },
  ),
  SWAP_API_KEY: text('^[!-~]{1,256}$', 'must be the API key, without spaces', {
    description: 'API key for `SWAP_API_URL`.',
    'x-secret': true,
  }),
}

/** Settings of one chain. */
const CHAIN_SOURCE_SETTINGS = {
  SWAP_API_TARGETS: list(...ADDRESSES, {
    description:
      'Contracts that may get call data from `SWAP_API_URL` on this chain, through the guard of swaps, as the documentation of 0x names them. An offer with another one is not taken.',
    maxItems: MAX_PINS,
  }),
  SWAP_API_SPENDERS: list(...ADDRESSES, {
    description:
      'Contracts that the guard of swaps may let take the sold token for such a call: the AllowanceHolder of 0x on this chain.',
    maxItems: MAX_PINS,
  }),
}

/** Undefined where unset. */
type SwapInput = SourceInput & {
  readonly SWAP_VENUES?: readonly string[]
  readonly WRAPPED_NATIVE?: string
  readonly SWAP_HOPS?: readonly string[]
  readonly SWAP_RPC_URLS?: readonly string[]
}

/**
 * What is not set is that of the public chain.
 *
 * @returns null without exchanges
 * @throws ValidationFailed for an address with a wrong checksum, a name that is used twice, or a missing WRAPPED_NATIVE
 */
function venuesOf(input: SwapInput, { prefix, isPublic, environment, network }: ConfiguredChain): SwapSettings | null {
  const known = isPublic ? PUBLIC_EXCHANGES[environment][network] : undefined
  const setting = `${prefix}SWAP_VENUES`
  if (input.SWAP_VENUES?.includes('none')) {
    if (input.SWAP_VENUES.length === 1) return null
    throw invalid(setting, 'must not name exchanges beside none')
  }
  const venues = input.SWAP_VENUES?.map((venue) => venueOf(venue, setting)) ?? known?.venues ?? []
  if (venues.length === 0) return null
  const wrapped = input.WRAPPED_NATIVE ?? known?.wrappedNative
  if (wrapped === undefined) throw invalid(`${prefix}WRAPPED_NATIVE`, `must be set if ${setting} is set`)
  const source = sourceSettings(input, prefix)
  const names = new Set(venues.map(({ name }) => name))
  if (names.size < venues.length) throw invalid(setting, 'must not use a name twice')
  return {
    venues,
    wrappedNative: parseAddress(wrapped, `${prefix}WRAPPED_NATIVE`),
    hops: input.SWAP_HOPS?.map((hop) => parseAddress(hop, `${prefix}SWAP_HOPS`)) ?? known?.hops ?? [],
    ...(source === null ? {} : { source }),
  }
}

function venueOf(text: string, setting: string): VenueSettings {
  const [name = '', kind, router = '', quoter = '', tiers] = text.split(':')
  const common = { name, router: parseAddress(router, setting) }
  if (kind === 'v2') return { ...common, kind, quoter: common.router, tiers: [] }
  const own = tiers?.split('+').map(Number) ?? USUAL_TIERS
  return { ...common, kind: 'v3', quoter: parseAddress(quoter, setting), tiers: [...new Set(own)] }
}

function invalid(setting: string, rule: string): ValidationFailed {
  return ValidationFailed.field(setting, 'invalid', `${setting} ${rule}`)
}

/** Undefined where unset. */
type SourceInput = {
  readonly SWAP_API_TARGETS?: readonly string[]
  readonly SWAP_API_SPENDERS?: readonly string[]
}

/** @returns `null` for a chain without pins. @throws ValidationFailed for a wrong checksum, or one setting without the other */
function sourceSettings(input: SourceInput, prefix: string): SourceSettings | null {
  const { SWAP_API_TARGETS: targets, SWAP_API_SPENDERS: spenders } = input
  if (targets === undefined && spenders === undefined) return null
  const both = { SWAP_API_TARGETS: targets, SWAP_API_SPENDERS: spenders }
  for (const [name, pins] of Object.entries(both)) {
    if (pins !== undefined && pins.length > 0) continue
    const rule = `${prefix}${name} must be set if ${prefix}SWAP_API_${name.endsWith('TARGETS') ? 'SPENDERS' : 'TARGETS'} is set`
    throw ValidationFailed.field(`${prefix}${name}`, 'invalid', rule)
  }
  const read = (pins: readonly string[] = [], name: string) => pins.map((pin) => parseAddress(pin, `${prefix}${name}`))
  return { targets: read(targets, 'SWAP_API_TARGETS'), spenders: read(spenders, 'SWAP_API_SPENDERS') }
}

type SourceConfig = { readonly url: string; readonly key: string }

type SourceValues = { readonly SWAP_API_URL?: string | undefined; readonly SWAP_API_KEY?: string | undefined }

/** @returns `null` for no source */
function sourceConfig({ SWAP_API_URL: url, SWAP_API_KEY: key }: SourceValues): SourceConfig | null {
  return url === undefined || key === undefined ? null : { url, key }
}

/** A source without a key, or whose offers could never be taken. */
function sourceProblems(general: SourceValues, chains: readonly ChainSettings[]): readonly string[] {
  const { SWAP_API_URL: url, SWAP_API_KEY: key } = general
  if (url === undefined) return key === undefined ? [] : ['SWAP_API_URL must be set if SWAP_API_KEY is set']
  const problems = URL.canParse(url) ? [] : [`SWAP_API_URL ${ruleOf(SOURCE_SETTINGS.SWAP_API_URL)}`]
  if (key === undefined) problems.push('SWAP_API_KEY must be set if SWAP_API_URL is set')
  if (!chains.some(({ swaps }) => swaps?.source !== undefined))
    problems.push('<NET>_SWAP_API_TARGETS must be set for a chain with swaps if SWAP_API_URL is set')
  return problems
}

export const swapSettings = {
  swap: declareSettings({
    group: 'last',
    settings: SWAP_SETTINGS,
    chainSettings: { ...CHAIN_SWAP_SETTINGS, ...CHAIN_SOURCE_SETTINGS },
    read: (values) => ({
      quoteTtlMs: values.SWAP_QUOTE_TTL_MS,
      maxSlippageBps: values.SWAP_MAX_SLIPPAGE_BPS,
      requireFeeds: values.SWAP_REQUIRE_FEEDS,
    }),
    readChain(values, chain) {
      const swaps = venuesOf(values, chain)
      return {
        ...(swaps === null ? {} : { swaps }),
        ...(values.SWAP_RPC_URLS === undefined ? {} : { relayUrls: values.SWAP_RPC_URLS }),
      }
    },
  }),
  swapSource: declareSettings({
    group: 'last',
    settings: SOURCE_SETTINGS,
    read: sourceConfig,
    problems: sourceProblems,
  }),
}

declare module '../config.ts' {
  interface CapabilityConfig {
    readonly swap: { readonly quoteTtlMs: number; readonly maxSlippageBps: number; readonly requireFeeds: boolean }
    /** Where hosted quotes come from; null for none. */
    readonly swapSource: SourceConfig | null
  }
}

declare module '../chain/settings.ts' {
  interface CapabilityChainSettings {
    /** Absent where swaps are not configured. */
    readonly swaps?: SwapSettings
  }
}
