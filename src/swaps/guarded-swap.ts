/** Whether a swap through the guard is what its event says, by its call data. Pure. */

import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import { decodeGuardedSwap } from './contracts/guard.ts'
import type { SourceSettings } from './exchange-settings.ts'
import type { SwapIntent } from './part.ts'

/**
 * Whoever calls the guard pays and receives, so the recipient is the wallet that signs.
 *
 * @param source what this process lets a hosted route call
 * @returns why it must not be signed; `null` when its assets, maximum, minimum and deadline are those of the event, and it
 *   calls contracts of the settings
 */
export function guardedSwapProblem(
  { data, asset, amount, validUntil }: Intent,
  { amountType, toAsset, limit }: SwapIntent,
  source: SourceSettings,
): string | null {
  const call = decodeGuardedSwap(data ?? '0x')
  if (call === null) return 'its call data is no swap of the guard'
  const { sold, bought, spender, target } = call
  if (!sameAsset(sold, asset.contract) || !sameAsset(bought, toAsset.contract))
    return 'it exchanges other assets through the guard than its event says'
  if (amountType !== 'exact_input' || call.amount !== amount) return 'it pays another amount than its event says'
  if (call.minimum !== BigInt(limit)) return 'the minimum in its call data is not that of its event'
  if (validUntil === null || call.deadline * 1_000 !== Date.parse(validUntil))
    return 'the deadline in its call data is not that of its event'
  if (!source.targets.some((pin) => sameHex(pin, target)))
    return `its route calls ${target}, which SWAP_API_TARGETS of this process does not name`
  const mayTake = spender === null ? sold === null : source.spenders.some((pin) => sameHex(pin, spender))
  return mayTake ? null : `its route lets ${spender} spend, which SWAP_API_SPENDERS of this process does not name`
}

function sameAsset(one: string | null, other: string | null): boolean {
  return one === null || other === null ? one === other : sameHex(one, other)
}
