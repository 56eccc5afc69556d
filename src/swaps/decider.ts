/** A swap is requested once; its transactions do the rest. Pure. */
import { Conflict } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import type { Swap, SwapEvent } from './events.ts'

export type SwapState = { readonly state: 'unknown' } | { readonly state: 'recorded'; readonly swap: Swap }

export type SwapCommand = { readonly type: 'RecordSwap'; readonly swap: Swap }

export const swapDecider: Decider<SwapState, SwapCommand, SwapEvent> = {
  initialState: { state: 'unknown' },
  decide({ swap }, state) {
    if (state.state !== 'unknown') throw new Conflict('swap_exists', 'A swap with this id already exists.')
    return [{ type: 'SwapRecorded', data: swap }]
  },
  evolve: (_before, { data }) => ({ state: 'recorded', swap: data }),
}
