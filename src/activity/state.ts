/** The state of an observed transfer: the fold of its events. `evolve` accepts every known event in every state. */
import { assertNever } from '../core/never.ts'
import type { ObservedTransfer, ObservedTransferEvent } from './events.ts'

export const TRANSFER_STATUSES = ['detected', 'confirmed', 'orphaned'] as const
export type TransferStatus = (typeof TRANSFER_STATUSES)[number]

export type KnownTransfer = {
  readonly status: TransferStatus
  /** As it was observed last. */
  readonly transfer: ObservedTransfer
  /** Its first observation: its place in lists. */
  readonly first: { readonly observedAt: string; readonly blockNumber: number; readonly logIndex: number | null }
}

export type TransferState = { readonly status: 'unknown' } | KnownTransfer

export const UNKNOWN_TRANSFER: TransferState = { status: 'unknown' }

export function evolve(before: TransferState, event: ObservedTransferEvent): TransferState {
  if (event.type === 'TransferObserved') {
    const { observedAt, ...transfer } = event.data
    const { blockNumber, logIndex } = transfer
    const first = before.status === 'unknown' ? { observedAt, blockNumber, logIndex } : before.first
    return { status: 'detected', transfer, first }
  }
  if (before.status === 'unknown') return before
  switch (event.type) {
    case 'TransferConfirmed':
      return { ...before, status: 'confirmed' }
    case 'TransferOrphaned':
      return { ...before, status: 'orphaned' }
    default:
      return assertNever(event)
  }
}
