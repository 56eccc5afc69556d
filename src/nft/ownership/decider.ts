/**
 * The changes of holders in blocks. Pure: the follower passes each block once and undoes it at most once, in one commit
 * with its cursor, so nothing has to be refused.
 */
import type { Decider } from '../../core/messages.ts'
import { assertNever } from '../../core/never.ts'
import type { MovesOfBlock, OwnershipEvent } from './events.ts'
import { evolve, NOBODY, type OwnershipState } from './state.ts'

export type OwnershipCommand =
  /** Blocks with token moves, oldest first. */
  | { readonly type: 'RecordMoves'; readonly blocks: readonly MovesOfBlock[]; readonly now: string }
  /** Blocks above the ancestor with recorded moves, newest first. */
  | {
      readonly type: 'RecordReorg'
      readonly blocks: readonly MovesOfBlock[]
      readonly ancestorNumber: number
      readonly now: string
    }

export const ownershipDecider: Decider<OwnershipState, OwnershipCommand, OwnershipEvent> = {
  initialState: NOBODY,
  evolve,
  decide(command) {
    const { now: observedAt } = command
    switch (command.type) {
      case 'RecordMoves':
        return command.blocks.map((block) => ({ type: 'TokensMoved', data: { ...block, observedAt } }))
      case 'RecordReorg': {
        const { ancestorNumber } = command
        return command.blocks.map((block) => ({
          type: 'OwnershipReorged',
          data: { ...block, ancestorNumber, observedAt },
        }))
      }
      default:
        return assertNever(command)
    }
  },
}
