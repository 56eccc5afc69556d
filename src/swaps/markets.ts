/**
 * The exchanges that swaps can use: those of the settings whose contracts fit together on chain. Each is checked at its
 * first use. What is right stays so, since contracts do not change; a wrong one is checked again after a minute.
 */

import type { ChainClient } from '../chain/client-set.ts'
import { readContracts } from '../chain/multicall.ts'
import { Unavailable } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'
import { addressAt, encodeRead } from './contracts/exchange-reads.ts'
import type { SwapSettings, VenueSettings } from './exchange-settings.ts'
import type { Market, Venue } from './market.ts'
import { notConfigured } from './refusals.ts'

export type Markets = {
  /** @throws ValidationFailed `swap_not_configured`; Unavailable `swap_venues_unusable` or `rpc_unavailable` */
  readonly marketOf: (chain: ChainKey & { readonly chainId: number }) => Promise<Market>
  /** One line for each exchange that is off; `null` when none is. */
  readonly problem: () => string | null
}

type Checked = { readonly venue: Venue } | { readonly problem: string; readonly againAt: number }

const AGAIN_AFTER_MS = 60_000

/** @param now a clock, ms */
export function createMarkets({
  chainOf,
  now,
}: {
  readonly chainOf: (chainId: number) => Pick<ChainClient, 'agreed' | 'settings' | 'forks'>
  readonly now: () => number
}): Markets {
  const checked = new Map<string, Checked>()

  async function venuesOf(chainId: number, swaps: SwapSettings): Promise<readonly Venue[]> {
    const { agreed, settings } = chainOf(chainId)
    const keyOf = ({ name }: VenueSettings) => `${settings.network} (${settings.environment}) ${name}`
    const open = swaps.venues.filter((venue) => {
      const known = checked.get(keyOf(venue))
      return known === undefined || ('againAt' in known && known.againAt <= now())
    })
    const calls = open.flatMap(readsOf)
    const returns = calls.length === 0 ? [] : await readContracts(agreed, settings.multicall3Address, calls, 'latest')
    let next = 0
    for (const venue of open) {
      const own = returns.slice(next, next + readsOf(venue).length)
      next += own.length
      const result = check(venue, own.map(addressAt), swaps.wrappedNative)
      checked.set(keyOf(venue), 'venue' in result ? result : { ...result, againAt: now() + AGAIN_AFTER_MS })
    }
    return swaps.venues.flatMap((venue) => {
      const known = checked.get(keyOf(venue))
      return known !== undefined && 'venue' in known ? [known.venue] : []
    })
  }

  return {
    async marketOf(chain) {
      const { forks, settings } = chainOf(chain.chainId)
      const { swaps } = settings
      if (swaps === undefined) throw notConfigured(chain)
      const venues = await venuesOf(chain.chainId, swaps)
      if (venues.length === 0)
        throw new Unavailable(
          'swap_venues_unusable',
          `No exchange of ${chain.network} can be used: ask the operator to look at /readyz.`,
        )
      return {
        chainId: chain.chainId,
        venues,
        wrapped: swaps.wrappedNative,
        hops: swaps.hops,
        rules: await forks.rules(),
      }
    },
    problem() {
      const problems = [...checked].flatMap(([key, known]) => ('problem' in known ? [`${key}: ${known.problem}`] : []))
      return problems.length === 0 ? null : `exchanges are off: ${problems.join('; ')}`
    },
  }
}

/** The router names its factory and its wrapped token; a quoter names both too, and they must be the same. */
function readsOf({ kind, router, quoter }: VenueSettings) {
  if (kind === 'v2') return readsOfOne(router, 'WETH')
  const both = [router, quoter].flatMap((target) => readsOfOne(target, 'WETH9'))
  return [...both, { target: router, data: encodeRead('factoryV2') }]
}

function readsOfOne(target: string, wrapped: 'WETH' | 'WETH9') {
  return (['factory', wrapped] as const).map((name) => ({ target, data: encodeRead(name) }))
}

function check(
  venue: VenueSettings,
  answers: readonly (string | null)[],
  wrappedNative: string,
): { readonly venue: Venue } | { readonly problem: string } {
  const [factory = null, wrapped = null, quotersFactory = null, quotersWrapped = null, factoryV2 = null] = answers
  if (factory === null) return { problem: `its router ${venue.router} is no ${venue.kind} router` }
  if (wrapped !== wrappedNative) return { problem: `its router wraps as ${wrapped}, not as WRAPPED_NATIVE says` }
  if (venue.kind === 'v3' && quotersFactory !== factory)
    return { problem: `its quoter ${venue.quoter} is not of the factory ${factory}` }
  if (venue.kind === 'v3' && quotersWrapped !== wrapped)
    return { problem: `its quoter ${venue.quoter} wraps as ${quotersWrapped}, and its router as ${wrapped}` }
  return { venue: { ...venue, factory, factoryV2 } }
}
