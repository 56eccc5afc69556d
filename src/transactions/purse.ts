/**
 * What a wallet can pay for gas beyond the holds of its other transactions. Every node refuses bytes that cost more
 * until the wallet is funded or has sent everything else, so they are not signed. Pure.
 */
import { largest, smallest } from '../core/money.ts'
import { highestFee } from './aggregate.ts'
import type { Call } from './build-call.ts'
import type { Fees } from './events.ts'
import type { KnownTransaction } from './state.ts'

export type Purse = {
  /**
   * The maximum gas cost of this call, wei, including the hold of its own transaction; negative means that it can pay
   * nothing.
   */
  readonly feeLimit: (transaction: KnownTransaction, call: Pick<Call, 'value'>) => bigint
  /** Deducts the cost of these fees beyond the hold: less remains for the next transaction. */
  readonly take: (transaction: KnownTransaction, fees: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => void
}

/** @param spare the balance minus all holds, wei; negative when the balance has fallen since */
export function createPurse(spare: bigint): Purse {
  let left = spare
  return {
    feeLimit(transaction, { value }) {
      const { asset, amount } = transaction.intent
      const held = asset.contract === null ? amount : 0n
      return left + highestFee(transaction) + held - value
    },
    take(transaction, { gasLimit, maxFeePerGas }) {
      const more = gasLimit * maxFeePerGas - highestFee(transaction)
      if (more > 0n) left -= more
    },
  }
}

/**
 * Limits the fees of the first bytes to the purse: at least what was reserved, which may have to wait for a lower base
 * fee, and more only if the wallet can pay it.
 */
export function withinPurse<Item extends { transaction: KnownTransaction; call: Call; fees: Fees }>(
  purse: Purse,
  item: Item,
): Item {
  const { transaction, call, fees } = item
  const limit = largest(purse.feeLimit(transaction, call), highestFee(transaction))
  const most = limit / fees.gasLimit
  const within = {
    ...fees,
    maxFeePerGas: smallest(fees.maxFeePerGas, most),
    maxPriorityFeePerGas: smallest(fees.maxPriorityFeePerGas, most),
  }
  purse.take(transaction, within)
  return { ...item, fees: within }
}
