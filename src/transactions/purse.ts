/**
 * What a wallet can pay for gas beyond the holds of its other transactions. Every node refuses bytes that cost more
 * until the wallet is funded or has sent everything else, so they are not signed. Pure.
 */
import { largest, smallest } from '../core/money.ts'
import { amountFreed, heldFee } from './aggregate.ts'
import type { Call } from './build-call.ts'
import type { Fees } from './events.ts'
import type { KnownTransaction } from './state.ts'

type Paying = Pick<Call, 'value'>

export type Purse = {
  /**
   * The maximum gas cost of this call, wei, including the hold of its own transaction.
   */
  readonly feeLimit: (transaction: KnownTransaction, call: Paying) => bigint
  /** Deducts the cost of this call at these fees beyond the hold: less remains for the next transaction. */
  readonly take: (transaction: KnownTransaction, call: Paying, fees: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => void
}

/** @param spare the balance minus all holds, wei; negative when the balance has fallen since */
export function createPurse(spare: bigint): Purse {
  // Where the balance has fallen, a call may still cost what its own transaction holds: no other one loses by it.
  let left = largest(spare, 0n)
  /** What this call can pay for gas from the hold of its own transaction. */
  const held = (transaction: KnownTransaction, { value }: Paying) =>
    heldFee(transaction) + amountFreed(transaction.intent) - value
  return {
    feeLimit: (transaction, call) => left + held(transaction, call),
    take(transaction, call, { gasLimit, maxFeePerGas }) {
      const more = gasLimit * maxFeePerGas - held(transaction, call)
      if (more > 0n) left -= more
    },
  }
}

/**
 * Limits the fees of the first bytes to the purse: at least what was reserved, which may have to wait for a lower base
 * fee, and more only if the wallet can pay it.
 *
 * @param mark adds the tag, which may raise fees of a few thousand wei
 * @returns `null` when the wallet cannot pay for the tag
 */
export function withinPurse<Item extends { transaction: KnownTransaction; call: Call; fees: Fees }>(
  purse: Purse,
  item: Item,
  mark: (fees: Fees) => Fees,
): Item | null {
  const { transaction, call, fees } = item
  const limit = largest(purse.feeLimit(transaction, call), heldFee(transaction))
  const most = limit / fees.gasLimit
  const within = mark({
    ...fees,
    maxFeePerGas: smallest(fees.maxFeePerGas, most),
    maxPriorityFeePerGas: smallest(fees.maxPriorityFeePerGas, most),
  })
  if (within.gasLimit * within.maxFeePerGas > limit) return null
  purse.take(transaction, call, within)
  return { ...item, fees: within }
}
