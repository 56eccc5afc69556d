/** The settings of swaps: the exchanges of each chain, its wrapped native token, and tokens that routes pass through. */
import { Type } from '@sinclair/typebox'
import { parseAddress } from '../chain/address.ts'
import { USUAL_TIERS } from '../chain/public-networks.ts'
import type { SwapSettings, VenueSettings } from '../chain/settings.ts'
import { ValidationFailed } from '../core/errors.ts'
import { list, milliseconds, text } from './schema-kinds.ts'
import { type SourceInput, sourceSettings } from './swap-source.ts'

const ADDRESS = '0x[0-9a-fA-F]{40}'
/** A fee tier of Uniswap V3 is a uint24, in millionths. */
const TIER = '[1-9][0-9]{0,5}'
const VENUE = `[a-z0-9][a-z0-9-]{0,31}:(v2:${ADDRESS}|v3:${ADDRESS}:${ADDRESS}(:${TIER}(\\+${TIER})*)?)`
/** Each adds up to six pools and quotes to every request. */
const MAX_HOPS = 6
const MAX_VENUES = 6

/** Settings of the whole installation. */
export const SWAP_SETTINGS = {
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
export const CHAIN_SWAP_SETTINGS = {
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

/** Undefined where unset. */
export type SwapInput = SourceInput & {
  readonly SWAP_VENUES?: readonly string[]
  readonly WRAPPED_NATIVE?: string
  readonly SWAP_HOPS?: readonly string[]
  readonly SWAP_RPC_URLS?: readonly string[]
}

/**
 * @param prefix of the names of the settings
 * @param known the exchanges of the public chain, for what is not set
 * @returns null without exchanges
 * @throws ValidationFailed for an address with a wrong checksum, a name that is used twice, or a missing WRAPPED_NATIVE
 */
export function swapSettings(input: SwapInput, prefix: string, known: SwapSettings | undefined): SwapSettings | null {
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
