/**
 * What a wallet can pay for gas beyond the holds of its other transactions. Every node refuses bytes that cost more
 * until the wallet is funded or has sent everything else, so they are not signed.
 *
 * Invariant: what a lane signs costs no more than its wallet has when it is recorded. Requests may be accepted, and other
 * holds grow, between the reading of what is spare and the append, which then refuses the bytes: they are signed again for
 * less (`withinFunds`).
 */
import { largest, smallest } from '../core/money.ts'
import { HoldRefused } from '../event-log/commit.ts'
import { amountFreed, heldFee } from './aggregate.ts'
import type { Call } from './build-call.ts'
import type { Fees } from './events.ts'
import type { KnownTransaction } from './state.ts'

type Paying = Pick<Call, 'value'>

export type GasBudget = {
  /**
   * The maximum gas cost of this call, wei, including the hold of its own transaction.
   */
  readonly feeLimit: (transaction: KnownTransaction, call: Paying) => bigint
  /** Deducts the cost of this call at these fees beyond the hold: less remains for the next transaction. */
  readonly take: (transaction: KnownTransaction, call: Paying, fees: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => void
}

/** @param spare the balance minus all holds, wei; negative when the balance has fallen since */
export function createGasBudget(spare: bigint): GasBudget {
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
 * Limits the fees of the first bytes to the budget: at least what was reserved, which may have to wait for a lower base
 * fee, and more only if the wallet can pay it.
 *
 * @param mark adds the tag, which may raise fees of a few thousand wei
 * @returns `null` when the wallet cannot pay for the tag
 */
export function withinBudget<Item extends { transaction: KnownTransaction; call: Call; fees: Fees }>(
  budget: GasBudget,
  item: Item,
  mark: (fees: Fees) => Fees,
): Item | null {
  const { transaction, call, fees } = item
  const limit = largest(budget.feeLimit(transaction, call), heldFee(transaction))
  const most = limit / fees.gasLimit
  const within = mark({
    ...fees,
    maxFeePerGas: smallest(fees.maxFeePerGas, most),
    maxPriorityFeePerGas: smallest(fees.maxPriorityFeePerGas, most),
  })
  if (within.gasLimit * within.maxFeePerGas > limit) return null
  budget.take(transaction, call, within)
  return { ...item, fees: within }
}

/**
 * Tries with what is spare, then with what is left of it, and at last with nothing but the transactions' own holds, which no
 * append refuses.
 *
 * @param spare as read before, wei
 * @param read reads it again
 * @param attempt signs for no more than these funds beside the holds, wei, and appends
 */
export async function withinFunds<Result>(
  spare: bigint,
  read: () => Promise<bigint>,
  attempt: (funds: bigint) => Promise<Result>,
): Promise<Result> {
  for (const funds of [async () => spare, read]) {
    try {
      return await attempt(await funds())
    } catch (error) {
      if (!(error instanceof HoldRefused)) throw error
    }
  }
  return attempt(0n)
}
