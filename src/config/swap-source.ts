/** The settings of the hosted source of quotes, and what its call data may do on each chain. Off unless set. */
import { parseAddress } from '../chain/address.ts'
import type { ChainSettings, SourceSettings } from '../chain/settings.ts'
import { ValidationFailed } from '../core/errors.ts'
import { ruleOf } from './read-setting.ts'
import { list, text } from './schema-kinds.ts'

const ADDRESSES = ['^0x[0-9a-fA-F]{40}$', 'must be a comma-separated list of at most 8 addresses'] as const
const MAX_PINS = 8

/** Settings of the whole installation. */
export const SOURCE_SETTINGS = {
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
export const CHAIN_SOURCE_SETTINGS = {
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
export type SourceInput = {
  readonly SWAP_API_TARGETS?: readonly string[]
  readonly SWAP_API_SPENDERS?: readonly string[]
}

/** @returns `null` for a chain without pins. @throws ValidationFailed for a wrong checksum, or one setting without the other */
export function sourceSettings(input: SourceInput, prefix: string): SourceSettings | null {
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

export type SourceConfig = { readonly url: string; readonly key: string }

type General = { readonly SWAP_API_URL?: string | undefined; readonly SWAP_API_KEY?: string | undefined }

/** @returns `null` for no source */
export function sourceConfig({ SWAP_API_URL: url, SWAP_API_KEY: key }: General): SourceConfig | null {
  return url === undefined || key === undefined ? null : { url, key }
}

/** A source without a key, or whose offers could never be taken. */
export function sourceProblems(general: General, chains: readonly ChainSettings[]): readonly string[] {
  const { SWAP_API_URL: url, SWAP_API_KEY: key } = general
  if (url === undefined) return key === undefined ? [] : ['SWAP_API_URL must be set if SWAP_API_KEY is set']
  const problems = URL.canParse(url) ? [] : [`SWAP_API_URL ${ruleOf(SOURCE_SETTINGS.SWAP_API_URL)}`]
  if (key === undefined) problems.push('SWAP_API_KEY must be set if SWAP_API_URL is set')
  if (!chains.some(({ swaps }) => swaps?.source !== undefined))
    problems.push('<NET>_SWAP_API_TARGETS must be set for a chain with swaps if SWAP_API_URL is set')
  return problems
}
