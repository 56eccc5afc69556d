/**
 * Whether a swap, or the approval for one, goes to a contract of the settings. Whoever signs asks it, with settings of
 * its own: no quote, and no process that accepts swaps, decides where the money goes. Pure.
 */
import { approvedSpender } from '../chain/erc20.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import { GUARD_ADDRESS } from './contracts/guard.ts'
import type { SwapSettings } from './exchange-settings.ts'
import { guardedSwapProblem } from './guarded-swap.ts'
import { routedSwapProblem } from './routed-swap.ts'

type Settings = Pick<ChainSettings, 'swaps'> | undefined

/** Why an approval must not be signed; `null` for one of an exchange of the settings. */
export function approvalTargetProblem(intent: Intent, { swaps }: Settings = {}): string | null {
  const spender = intent.amount === 0n ? approvedSpender(intent.data ?? '') : null
  if (spender === null) return 'it approves a swap, but is no call of approve(address,uint256) without value'
  return has(swapSpenders(swaps), spender)
    ? null
    : `it lets ${spender} spend, which is no exchange of SWAP_VENUES of this process, nor its guard for SWAP_API_TARGETS`
}

/**
 * Why a swap must not be signed; `null` for one that goes to an exchange of the settings and does what its event says.
 *
 * @param chain the settings of its chain
 */
export function swapTargetProblem(intent: Intent, { swaps }: Settings = {}): string | null {
  const { to, swap } = intent
  if (swaps === undefined || !has(swapTargets(swaps), to))
    return `its swap calls ${to}, which SWAP_VENUES, WRAPPED_NATIVE and SWAP_API_TARGETS of this process do not name`
  if (swap === undefined) return 'a swap must say what it exchanges'
  if (swaps.source !== undefined && sameHex(to, GUARD_ADDRESS)) return guardedSwapProblem(intent, swap, swaps.source)
  return swap.hosted === true
    ? 'its route is hosted and does not call the guard'
    : routedSwapProblem(intent, swap, swaps)
}

/** Contracts that a swap may call. */
export function swapTargets(swaps: SwapSettings | undefined): readonly string[] {
  if (swaps === undefined) return []
  return [...swaps.venues.map(({ router }) => router), swaps.wrappedNative, ...guardOf(swaps)]
}

/** Contracts that a swap may let take the sold token. */
export function swapSpenders(swaps: SwapSettings | undefined): readonly string[] {
  if (swaps === undefined) return []
  return [...swaps.venues.map(({ router }) => router), ...guardOf(swaps)]
}

/** Wallets call the contracts of a hosted source through the guard only. */
function guardOf({ source }: SwapSettings): readonly string[] {
  return source === undefined ? [] : [GUARD_ADDRESS]
}

function has(addresses: readonly string[], address: string): boolean {
  return addresses.some((each) => sameHex(each, address))
}
