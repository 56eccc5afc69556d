/**
 * What is recorded of a transfer on chain: detected in a block, confirmed or orphaned later, and detected again if a
 * reorg moved it to another block. Pure: everything was read from the blocks before.
 */
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { ObservedTransfer, ObservedTransferEvent, TransferOrphaned } from './events.ts'
import { evolve, type KnownTransfer, type TransferState, UNKNOWN_TRANSFER } from './state.ts'

export type TransferCommand =
  | { readonly type: 'RecordTransfer'; readonly transfer: ObservedTransfer; readonly now: string }
  /** @param head number of the newest processed block */
  | {
      readonly type: 'ConfirmTransfer'
      readonly head: number
      readonly requiredConfirmations: number
      readonly now: string
    }
  /** Its block left the chain. */
  | { readonly type: 'OrphanTransfer'; readonly now: string }

export const transferDecider: Decider<TransferState, TransferCommand, ObservedTransferEvent> = {
  initialState: UNKNOWN_TRANSFER,
  evolve,
  decide(command, state) {
    const { now } = command
    switch (command.type) {
      case 'RecordTransfer': {
        const { transfer } = command
        const observed = { type: 'TransferObserved' as const, data: { ...transfer, observedAt: now } }
        if (!stands(state)) return [observed]
        // A block that is processed again records nothing. A transaction is in one block of a chain at most.
        return state.transfer.blockHash === transfer.blockHash ? [] : [orphaned(state, now), observed]
      }
      case 'ConfirmTransfer': {
        if (state.status !== 'detected') return []
        const { blockNumber, blockHash } = state.transfer
        const confirmations = command.head - blockNumber + 1
        if (confirmations < command.requiredConfirmations) return []
        return [{ type: 'TransferConfirmed', data: { blockNumber, blockHash, confirmations, confirmedAt: now } }]
      }
      case 'OrphanTransfer':
        return stands(state) ? [orphaned(state, now)] : []
      default:
        return assertNever(command)
    }
  },
}

function stands(state: TransferState): state is KnownTransfer {
  return state.status === 'detected' || state.status === 'confirmed'
}

function orphaned({ status, transfer: { blockNumber, blockHash } }: KnownTransfer, now: string): TransferOrphaned {
  return {
    type: 'TransferOrphaned',
    data: { blockNumber, blockHash, wasConfirmed: status === 'confirmed', orphanedAt: now },
  }
}
