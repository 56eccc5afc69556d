/** A token transfer is requested once; its transactions do the rest. Pure. */
import { Conflict } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { NftTransfer, NftTransferEvent } from './events.ts'

export type NftTransferState =
  | { readonly state: 'unknown' }
  | { readonly state: 'recorded'; readonly transfer: NftTransfer }

export type NftTransferCommand = { readonly type: 'RecordTransfer'; readonly transfer: NftTransfer }

export const nftTransferDecider: Decider<NftTransferState, NftTransferCommand, NftTransferEvent> = {
  initialState: { state: 'unknown' },
  decide({ transfer }, state) {
    if (state.state !== 'unknown') throw new Conflict('transfer_exists', 'A transfer with this id already exists.')
    return [{ type: 'NftTransferRecorded', data: transfer }]
  },
  evolve: (_before, { data }) => ({ state: 'recorded', transfer: data }),
}
