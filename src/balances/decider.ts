/**
 * What an observation adds to what is known. Pure: the balances were read from the chain before. Observations arrive from
 * the follower, the reconciliation and the first look at a wallet, in any order and more than once.
 */
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { BalanceEvent, BlockRef, Observation, ObservationCause } from './events.ts'
import { type BalanceState, evolve, NOTHING_KNOWN } from './state.ts'

/** An observation that takes the place of one whose block left the chain. */
export type Correction = { readonly observation: Observation; readonly orphaned: BlockRef }

export type BalanceCommand =
  | {
      readonly type: 'RecordObservations'
      /** At most one for each asset. */
      readonly observations: readonly Observation[]
      readonly cause: ObservationCause
      readonly now: string
    }
  | { readonly type: 'RecordReorg'; readonly corrections: readonly Correction[]; readonly now: string }

export const balanceDecider: Decider<BalanceState, BalanceCommand, BalanceEvent> = {
  initialState: NOTHING_KNOWN,
  evolve,
  decide(command, state) {
    switch (command.type) {
      case 'RecordObservations': {
        const { cause, now: observedAt } = command
        return command.observations
          .filter((observation) => isNews(observation, state))
          .map((observation) => ({ type: 'BalanceChanged', data: { ...observation, cause, observedAt } }))
      }
      case 'RecordReorg': {
        const { now: observedAt } = command
        return command.corrections
          .filter((correction) => stillStands(correction, state))
          .map(({ observation, orphaned }) => ({
            type: 'BalanceReorged',
            data: {
              ...observation,
              orphanedBlockNumber: orphaned.blockNumber,
              orphanedBlockHash: orphaned.blockHash,
              observedAt,
            },
          }))
      }
      default:
        return assertNever(command)
    }
  },
}

/**
 * An older block knows less than what is recorded, and the same amount in a newer block is no fact worth a row in the
 * log: the recorded block says since when the balance is what it is. The first zero is news: nobody knew it was zero.
 */
function isNews({ asset, balance, blockNumber }: Observation, state: BalanceState): boolean {
  const known = state[asset.assetId]
  return known === undefined || (blockNumber >= known.blockNumber && balance !== known.balance)
}

/**
 * Corrects exactly the observation that it names. The amount may be the same: the block must go back all the same, or
 * the blocks that replace it would look older than what is known.
 */
function stillStands({ observation, orphaned }: Correction, state: BalanceState): boolean {
  const known = state[observation.asset.assetId]
  return known?.blockNumber === orphaned.blockNumber && known.blockHash === orphaned.blockHash
}
