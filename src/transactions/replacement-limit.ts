/**
 * Why a requested cancellation or speed-up cannot be signed now: the fee cap, or the funds of the wallet. It is signed
 * without another request once the limit allows it. Pure.
 */
import { leastBump } from '../chain/fees.ts'
import { formatAmount } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { createGasBudget } from './gas-budget.ts'
import { highestOffer, isUnmined, type KnownTransaction, newestAttempt, wishOf } from './state.ts'

const GWEI_DECIMALS = 9

export type ReplacementLimit =
  /** The least fee per gas of the replacement, and the cap, in wei. */
  | { readonly kind: 'fee_cap'; readonly neededWei: bigint; readonly capWei: bigint }
  /** What the wallet lacks, in wei. */
  | { readonly kind: 'funds'; readonly missingWei: bigint }

export type Limits = {
  readonly capWei: bigint
  /** The native balance minus all holds, negative when the balance has fallen since. */
  readonly spareWei: bigint
  /** The gas of a cancellation. */
  readonly emptyGas: bigint
}

export function replacementLimit(
  transaction: KnownTransaction,
  { capWei, spareWei, emptyGas }: Limits,
): ReplacementLimit | null {
  const newest = newestAttempt(transaction)
  const purpose = wishOf(transaction)
  if (purpose === null || newest === null || !isUnmined(transaction)) return null
  const isCancel = purpose === 'cancel'
  const call = isCancel ? buildCancellation(transaction.intent) : buildCall(transaction.intent)
  const gasLimit = isCancel ? emptyGas : newest.fees.gasLimit
  const neededWei = leastBump(highestOffer(transaction))
  if (neededWei > capWei) return { kind: 'fee_cap', neededWei, capWei }
  const beyondHoldWei = neededWei * gasLimit - createGasBudget(0n).feeLimit(transaction, call)
  return beyondHoldWei > 0n && beyondHoldWei > spareWei ? { kind: 'funds', missingWei: beyondHoldWei - spareWei } : null
}

/** For the client: what the answer to its request says. `network`: its fees are above the cap. */
export function limitWarning(
  limit: ReplacementLimit | { readonly kind: 'network'; readonly capWei: bigint },
  transaction: KnownTransaction,
): { readonly code: 'fee_cap_exceeded' | 'insufficient_funds'; readonly message: string } {
  const what = transaction.cancellationRequested ? 'cancellation' : 'speed-up'
  const until = 'Until then the transaction can still be mined as it is.'
  if (limit.kind === 'funds') {
    const { network, from } = transaction.intent
    const missing = `${formatAmount(limit.missingWei, NATIVE_DECIMALS)} ${NATIVE_SYMBOL[network]}`
    const message = `The ${what} is not signed yet: send at least ${missing} to ${from}, and it is signed automatically. ${until}`
    return { code: 'insufficient_funds', message }
  }
  const gwei = (wei: bigint) => `${formatAmount(wei, GWEI_DECIMALS)} gwei`
  const [needs, when] =
    limit.kind === 'network'
      ? ['the network requires more per gas than', 'fees fall, or the operator raises the cap']
      : [
          `it needs at least ${gwei(limit.neededWei)} per gas, 12.5 % more than before, which is above`,
          'the operator raises the cap',
        ]
  const message = `The ${what} is not signed yet: ${needs} the cap of ${gwei(limit.capWei)}. It is signed automatically when ${when}. ${until}`
  return { code: 'fee_cap_exceeded', message }
}
