/**
 * What a wallet can pay for gas beside all that is held back for its other transactions. Bytes that cost more are refused by
 * every node until somebody pays in, and the wallet has sent all it has; so nothing dearer is signed. Pure.
 */
import { largest } from '../core/money.ts'
import { highestFee } from './aggregate.ts'
import type { Call } from './build-call.ts'
import type { Fees } from './events.ts'
import type { KnownTransaction } from './state.ts'

export type Purse = {
  /** The most that the gas of this call may cost, wei. What is held back for its transaction counts; below 0 it can pay nothing. */
  readonly feeLimit: (transaction: KnownTransaction, call: Pick<Call, 'value'>) => bigint
  /** Takes what these fees cost beyond what is held back already: the next transaction has that much less. */
  readonly take: (transaction: KnownTransaction, fees: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => void
}

/** @param spare the balance less all that is held back, wei; below 0 where the balance has fallen since */
export function createPurse(spare: bigint): Purse {
  let left = spare
  return {
    feeLimit(transaction, { value }) {
      const { asset, amount } = transaction.intent
      const held = asset.contract === null ? BigInt(amount) : 0n
      return left + highestFee(transaction) + held - value
    },
    take(transaction, { gasLimit, maxFeePerGas }) {
      const more = BigInt(gasLimit) * BigInt(maxFeePerGas) - highestFee(transaction)
      if (more > 0n) left -= more
    },
  }
}

/**
 * Fees of the first bytes within the purse: at least what was reserved, which may wait for the base fee to fall, and more
 * only where the wallet can pay it.
 */
export function withinPurse<Item extends { transaction: KnownTransaction; call: Call; fees: Fees }>(
  purse: Purse,
  item: Item,
): Item {
  const { transaction, call, fees } = item
  const limit = largest(purse.feeLimit(transaction, call), highestFee(transaction))
  const most = limit / BigInt(fees.gasLimit)
  const within = BigInt(fees.maxFeePerGas) <= most ? fees : { ...fees, ...atMost(fees, most) }
  purse.take(transaction, within)
  return { ...item, fees: within }
}

function atMost({ maxPriorityFeePerGas: tip }: Fees, most: bigint) {
  const maxFeePerGas = most.toString()
  return { maxFeePerGas, maxPriorityFeePerGas: BigInt(tip) < most ? tip : maxFeePerGas }
}
