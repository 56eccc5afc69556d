/**
 * Whether the order of a transaction's events is valid. `evolve` accepts every event in every state, so that old logs
 * always fold; signers accept only sequences that the decider writes, so an ended transaction cannot be revived by an
 * event that no worker would append. Pure.
 */
import {
  IN_BLOCK_STATES,
  IN_FLIGHT_STATES,
  isUnmined,
  type KnownTransaction,
  type TransactionStateName,
} from './state.ts'

const IN_BLOCK: readonly (TransactionStateName | undefined)[] = IN_BLOCK_STATES
const TAKEN_BACK: readonly TransactionStateName[] = [...IN_BLOCK_STATES, 'confirmed', 'reverted', 'cancelled']

/** What is wrong with the order of the events; `null` when it is valid. */
export function historyProblem(transaction: KnownTransaction): string | null {
  const states = transaction.history.map(({ state }) => state)
  let wasSigned = false
  for (const [place, state] of states.entries()) {
    const before = states[place - 1]
    if (state === 'signed') wasSigned = true
    if (before === undefined) continue
    if (before === 'failed' && !IN_BLOCK.includes(state)) return `it became ${state} after it had failed`
    if (state === 'requested') {
      if (!wasSigned || !(IN_FLIGHT_STATES as readonly TransactionStateName[]).includes(before))
        return 'it lost a nonce that it never had'
      wasSigned = false
    }
    if (state === 'reorged' && !wasMined(states, place)) return 'it left a block that it was never in'
  }
  if (isUnmined(transaction) && transaction.attempts.length === 0 && transaction.state !== 'requested') {
    return `it is ${transaction.state}, but its signed bytes are not recorded`
  }
  return null
}

/** In older logs a settled transaction leaves its block with the same event as one that was only mined. */
function wasMined(states: readonly TransactionStateName[], place: number): boolean {
  const before = states[place - 1]
  if (before === undefined || !TAKEN_BACK.includes(before)) return false
  return IN_BLOCK.includes(before) || IN_BLOCK.includes(states[place - 2])
}
