/**
 * Requests that need more gas than they hold since a fork of their chain: the append that records a signature raises their
 * hold. What the wallet cannot pay at the price of a block fails unsigned, because its bytes would block their nonce. Pure.
 */
import { formatAmount } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import type { Call } from './build-call.ts'
import type { Fees, Intent, Quote } from './events.ts'
import { createPurse, withinPurse } from './purse.ts'
import { isBeforeFork } from './spend-bounds.ts'
import type { KnownTransaction } from './state.ts'

/** What it needs, and why that is more than its hold. */
export type GasCause = { readonly gasLimit: bigint; readonly newAccount?: bigint }

export function needsMoreGas(
  intent: Pick<Intent, 'reserved' | 'requestedAt'>,
  { gasLimit, newAccount = 0n }: GasCause,
  since: string | null,
): string {
  const { reserved } = intent
  const fork = isBeforeFork(intent, since) ? `A fork of the chain came at ${since}, after the request. ` : ''
  const cause = newAccount > 0n ? ` of which ${newAccount} create the account of the recipient, which is new,` : ''
  return `${fork}The transaction now needs ${gasLimit} gas,${cause} but its hold covers only ${reserved.gasLimit}`
}

/** @returns why it needs more gas than it holds, if a fork is the cause, or `null` */
export function raisedByFork(intent: Intent, needed: GasCause, since: string | null): string | null {
  const { reserved } = intent
  const createsMore = (needed.newAccount ?? 0n) > (reserved.newAccountGas ?? 0n)
  if (needed.gasLimit <= reserved.gasLimit || !(createsMore || isBeforeFork(intent, since))) return null
  return needsMoreGas(intent, needed, since)
}

type Priced = {
  readonly transaction: KnownTransaction
  readonly call: Call
  readonly fees: Fees
  readonly quote: Quote
  /** Why it needs more gas than it holds, if a fork is the cause. */
  readonly raised: string | null
}

export type Unpayable<Item> = { readonly item: Item; readonly message: string }

/** @param spare what the wallet has beyond all holds, wei */
export function apartUnpayable<Item extends Priced>(
  ready: readonly Item[],
  spare: bigint,
): { readonly payable: readonly Item[]; readonly unpayable: readonly Unpayable<Item>[] } {
  const purse = createPurse(spare)
  const payable: Item[] = []
  const unpayable: Unpayable<Item>[] = []
  for (const item of ready) {
    const { raised, transaction, call, fees, quote } = item
    const limit = purse.feeLimit(transaction, call)
    if (raised !== null && fees.gasLimit * quote.baseFeePerGas > limit) {
      const { network } = transaction.intent
      const missing = formatAmount(fees.gasLimit * fees.maxFeePerGas - limit, NATIVE_DECIMALS)
      const message = `${raised}, and the wallet lacks ${missing} ${NATIVE_SYMBOL[network]} for it: fund the wallet, and send it again.`
      unpayable.push({ item, message })
    } else {
      payable.push(item)
      withinPurse(purse, item, (same) => same)
    }
  }
  return { payable, unpayable }
}
