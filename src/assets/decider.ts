/** An asset is registered once; what its contract says later does not change it. Pure. */
import type { Decider } from '../core/messages.ts'
import type { AssetEvent, AssetRegistered } from './events.ts'

export type AssetState = { readonly status: 'unknown' } | ({ readonly status: 'registered' } & AssetRegistered['data'])

export type AssetCommand = { readonly type: 'RegisterAsset'; readonly asset: AssetRegistered['data'] }

export const assetDecider: Decider<AssetState, AssetCommand, AssetEvent> = {
  initialState: { status: 'unknown' },
  decide: (command, state) => (state.status === 'unknown' ? [{ type: 'AssetRegistered', data: command.asset }] : []),
  evolve: (_before, { data }) => ({ ...data, status: 'registered' }),
}
