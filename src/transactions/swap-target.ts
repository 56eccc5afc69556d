/**
 * Whether a swap, or the approval for one, goes to a contract of the settings. Whoever signs asks it, with settings of
 * its own: no quote, and no process that accepts swaps, decides where the money goes. Pure.
 */
import { approvedSpender } from '../chain/erc20.ts'
import type { SwapSettings } from '../chain/settings.ts'
import { sameHex } from '../keys/coverage.ts'
import { type KnownTransaction, newestAttempt } from './state.ts'

/**
 * Why a recorded transaction must not be signed; `null` for one that goes to an exchange of the settings, and for
 * everything that is no swap. A cancellation calls nothing.
 *
 * @param swaps the settings of its chain; `undefined` where swaps are not configured
 */
export function swapTargetProblem(transaction: KnownTransaction, swaps: SwapSettings | undefined): string | null {
  const { type, intent, cancellationRequested } = transaction
  if (cancellationRequested || newestAttempt(transaction)?.purpose === 'cancel') return null
  if (type === 'SWAP' && !has(swapTargets(swaps), intent.to))
    return `its swap calls ${intent.to}, which SWAP_VENUES, WRAPPED_NATIVE and SWAP_API_TARGETS of this process do not name`
  if (type !== 'APPROVAL') return null
  const spender = intent.amount === 0n ? approvedSpender(intent.data ?? '') : null
  if (spender === null) return 'it approves a swap, but is no call of approve(address,uint256) without value'
  return has(swapSpenders(swaps), spender)
    ? null
    : `it lets ${spender} spend, which SWAP_VENUES and SWAP_API_SPENDERS of this process do not name`
}

/** Contracts that a swap may call. */
export function swapTargets(swaps: SwapSettings | undefined): readonly string[] {
  if (swaps === undefined) return []
  return [...swaps.venues.map(({ router }) => router), swaps.wrappedNative, ...(swaps.source?.targets ?? [])]
}

/** Contracts that a swap may let take the sold token. */
export function swapSpenders(swaps: SwapSettings | undefined): readonly string[] {
  if (swaps === undefined) return []
  return [...swaps.venues.map(({ router }) => router), ...(swaps.source?.spenders ?? [])]
}

function has(addresses: readonly string[], address: string): boolean {
  return addresses.some((each) => sameHex(each, address))
}
