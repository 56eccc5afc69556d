/** What becomes of a mined transaction that has its confirmations. Pure. */
import type { TransactionEvent } from './all-events.ts'
import type { Failure, Inclusion } from './events.ts'
import type { Intent } from './intent.ts'
import type { KnownTransaction } from './state.ts'

export type Settling = Pick<Failure, 'revertedBy'> & {
  readonly confirmations: number
  readonly revertReason: string
  readonly now: string
}

export function settle(command: Settling, { state, intent, inclusion }: KnownTransaction): readonly TransactionEvent[] {
  if ((state !== 'mined' && state !== 'cancelling') || inclusion === null) return []
  const { blockNumber, succeeded, hash } = inclusion
  const { confirmations, revertReason, now } = command
  const settled = { blockNumber, confirmations }
  // Whatever its execution did, it used the nonce.
  if (state === 'cancelling') return [{ type: 'TransactionCancelled', data: { hash, ...settled, cancelledAt: now } }]
  if (!succeeded) {
    const by = command.revertedBy === undefined ? {} : { revertedBy: command.revertedBy }
    const data = { ...settled, reason: revertReason, ...by, revertedAt: now }
    return [{ type: 'TransactionReverted', data }]
  }
  if (inclusion.effect === 'missing') {
    const reason = `The call succeeded, but the logs of the transaction do not show what was requested. Either ${intent.to} had no code in this block, or it did something else.`
    return [{ type: 'TransactionReverted', data: { ...settled, reason, revertedAt: now, code: 'no_effect' } }]
  }
  if (!hasMoved(intent, inclusion)) {
    const reason = `The contract of ${intent.asset.symbol} accepted the call but logged no transfer from the wallet to the recipient. Check the recipient's balance before you send again.`
    return [{ type: 'TransactionReverted', data: { ...settled, reason, revertedAt: now, code: 'token_not_moved' } }]
  }
  return [{ type: 'TransactionConfirmed', data: { ...settled, confirmedAt: now } }]
}

/** A token may move another amount than the one sent: the fee that it keeps is reported. */
function hasMoved({ amount }: Intent, { moved }: Inclusion): boolean {
  return moved === undefined || amount === 0n || (moved !== null && moved > 0n)
}
