/** An asset is registered until it is removed; later changes of its contract do not affect it. Pure. */
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { AssetEvent, AssetRegistered } from './events.ts'

type Registered = AssetRegistered['data']

export type AssetState =
  | { readonly status: 'unknown' }
  | ({ readonly status: 'registered' } & Registered)
  | ({ readonly status: 'removed'; readonly removedAt: string } & Registered)

export type AssetCommand =
  | { readonly type: 'RegisterAsset'; readonly asset: Registered }
  | { readonly type: 'RemoveAsset'; readonly now: string }

export const assetDecider: Decider<AssetState, AssetCommand, AssetEvent> = {
  initialState: { status: 'unknown' },
  decide(command, state) {
    switch (command.type) {
      case 'RegisterAsset':
        return state.status === 'registered' ? [] : [{ type: 'AssetRegistered', data: command.asset }]
      case 'RemoveAsset': {
        if (state.status !== 'registered') return []
        const { assetId, chainId, contractAddress } = state
        return [{ type: 'AssetRemoved', data: { assetId, chainId, contractAddress, removedAt: command.now } }]
      }
      default:
        return assertNever(command)
    }
  },
  evolve(before, event) {
    if (event.type === 'AssetRegistered') return { ...event.data, status: 'registered' }
    return before.status === 'unknown' ? before : { ...before, status: 'removed', removedAt: event.data.removedAt }
  },
}
