/** Whether a swap that calls an exchange, or the wrapped native token, is what its event says, by its call data. Pure. */

import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import { readRoutedSwap } from './contracts/read-routed-swap.ts'
import { encodeUnwrap, encodeWrap } from './contracts/router.ts'
import type { SwapSettings } from './exchange-settings.ts'
import type { SwapIntent } from './part.ts'

/**
 * @param swaps the settings of this process
 * @returns why it must not be signed; `null` when the wallet pays and receives the assets of the event, with its amount,
 *   minimum or maximum and deadline, and nothing else is called; and for a contract that is neither
 */
export function routedSwapProblem(intent: Intent, swap: SwapIntent, swaps: SwapSettings): string | null {
  const { to } = intent
  if (sameHex(to, swaps.wrappedNative)) return wrapProblem(intent, swap)
  const venue = swaps.venues.find(({ router }) => sameHex(router, to))
  return venue === undefined ? null : callProblem(intent, swap, { kind: venue.kind, wrapped: swaps.wrappedNative })
}

function wrapProblem({ to, data, asset, amount }: Intent, { toAsset, limit }: SwapIntent): string | null {
  const isWrap = asset.contract === null && sameAsset(toAsset.contract, to)
  const isUnwrap = toAsset.contract === null && sameAsset(asset.contract, to)
  const call = isWrap ? encodeWrap(to, amount) : isUnwrap ? encodeUnwrap(to, amount) : null
  if (call === null || !sameHex(data, call.data))
    return 'it calls the wrapped token for something else than its event says'
  return BigInt(limit) === amount ? null : 'a wrap must give what it takes'
}

type Called = { readonly kind: 'v2' | 'v3'; readonly wrapped: string }

function callProblem(intent: Intent, swap: SwapIntent, { kind, wrapped }: Called): string | null {
  const { to, from, data, asset, amount, validUntil } = intent
  const { toAsset, amountType, fromAmount, toAmount, limit } = swap
  const exactOutput = amountType === 'exact_output'
  const native = asset.contract === null ? 'in' : toAsset.contract === null ? 'out' : null
  const known = { kind, router: to, exactOutput, native, wallet: from } as const
  const call = readRoutedSwap(known, data ?? '0x', native === 'in' ? amount : 0n)
  if (call === null) return 'its call data is no swap of its exchange that pays the wallet'
  const [sold, bought] = [asset.contract ?? wrapped, toAsset.contract ?? wrapped]
  if (call.legs.some(({ hops }) => !sameAsset(hops[0]?.from, sold) || !sameAsset(hops.at(-1)?.to, bought)))
    return 'the assets in its call data are not those of its event'
  const sum = (field: 'amountIn' | 'amountOut' | 'limit') => call.legs.reduce((all, leg) => all + leg[field], 0n)
  if (sum('limit') !== BigInt(limit))
    return `the ${exactOutput ? 'maximum' : 'minimum'} in its call data is not that of its event`
  const [fixed, asked, most] = exactOutput
    ? [sum('amountOut'), BigInt(toAmount), BigInt(limit)]
    : [sum('amountIn'), BigInt(fromAmount), BigInt(fromAmount)]
  if (fixed !== asked || amount !== most) return 'the amount in its call data is not that of its event'
  const isInTime = validUntil !== null && call.deadline * 1_000 === Date.parse(validUntil)
  return isInTime ? null : 'the deadline in its call data is not that of its event'
}

function sameAsset(one: string | null | undefined, other: string): boolean {
  return one != null && sameHex(one, other)
}
