/**
 * What an observation adds to the known balances. Pure: the balances were read from the chain before. Observations come
 * from the follower, the reconciliation and the first observation of a wallet, in any order and more than once.
 */
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { BalanceEvent, BlockRef, Observation, ObservationCause } from './events.ts'
import { type BalanceState, evolve, NOTHING_KNOWN } from './state.ts'

/** An observation that replaces one whose block left the chain. */
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
 * An observation from an older block is no news, and neither is the same amount in a newer block: the recorded block is
 * the one since which the balance has its value. The first zero is news: the balance was unknown before.
 */
function isNews({ asset, balance, blockNumber }: Observation, state: BalanceState): boolean {
  const known = state[asset.assetId]
  return known === undefined || (blockNumber >= known.blockNumber && balance !== known.balance)
}

/**
 * Corrects exactly the named observation, even if the amount is the same: the recorded block must go back, or blocks of
 * the new branch would look older than what is known.
 */
function stillStands({ observation, orphaned }: Correction, state: BalanceState): boolean {
  const known = state[observation.asset.assetId]
  return known?.blockNumber === orphaned.blockNumber && known.blockHash === orphaned.blockHash
}
