/**
 * What public events say about the voucher of a LAZY mint. Its use, by whomever, is told once: when the log of the contract is
 * recorded. Of its transactions only those are told that the use does not tell. Pure.
 */
import type { PublishSource } from '../../capability.ts'
import type { TransactionEvent } from '../../transactions/all-events.ts'
import { transactionFold } from '../../transactions/fold-view.ts'
import type { Fate, Outcome } from '../outcome.ts'
import { type OutcomeChange, outcomeIn, REQUESTED, type TransactionSource } from '../outcome-change.ts'
import type { MintEvent } from './mint-events.ts'
import { evolve, type MintState, UNKNOWN_MINT } from './mint-state.ts'
import type { MintView } from './mint-view.ts'
import { voucherStatus } from './voucher-status.ts'

type MintSource = PublishSource<MintState, MintEvent>

const STATUS = { done: 'MINTED', failed: 'FAILED', reorged: 'PENDING' } as const

/** The status after a change of a transaction. */
export function statusOf(
  change: OutcomeChange,
  { isLazy, revokes }: { readonly isLazy: boolean; readonly revokes: boolean },
): MintView['status'] {
  if (revokes) return change === 'done' ? 'REVOKED' : 'LAZY'
  return isLazy && change === 'failed' ? 'LAZY' : STATUS[change]
}

export function fateView(transactionId: string | null, { hash, failure }: Pick<Fate, 'hash' | 'failure'>) {
  return { transaction_id: transactionId, transaction_hash: hash, failure, voucher_signature: null }
}

/** The streams of the transactions that redeem and revoke the voucher. */
export function transactionsOf(state: MintState): readonly string[] {
  if (state.state === 'unknown') return []
  const ids = [state.mint.tokens[0]?.transactionId, state.voucher?.revocationId]
  return ids.flatMap((id) => (id ? [`${transactionFold.category}-${id}`] : []))
}

/** What an event of a mint says. `owner`: who got the token; null as recorded with the mint. */
export function toldBy(source: MintSource) {
  const { first, event, after } = source
  const isLazy = first.type === 'MintRecorded' && first.data.mintingType === 'LAZY'
  const requested = { ...fateView(null, REQUESTED), status: isLazy ? ('LAZY' as const) : ('PENDING' as const) }
  switch (event.type) {
    case 'VoucherSigned':
      return { owner: null, fields: { ...requested, voucher_signature: event.data.signature } }
    case 'VoucherUsed': {
      const { as, recipient, hash, transactionId } = event.data
      const status = voucherStatus({ used: as, redemption: null, revocation: null })
      return { owner: recipient, fields: { ...fateView(transactionId, { hash, failure: null }), status } }
    }
    case 'VoucherUseReorged': {
      const { hash, transactionId, ancestorNumber } = event.data
      const { mint, voucher } = after.state === 'unknown' ? { mint: null, voucher: null } : after
      const outcome = (id: string | null | undefined) => (id ? outcomeAfterReorg(source, id, ancestorNumber) : null)
      const [redemption, revocation] = [outcome(mint?.tokens[0]?.transactionId), outcome(voucher?.revocationId)]
      const status = voucherStatus({ used: null, redemption, revocation })
      return { owner: null, fields: { ...fateView(transactionId, { hash, failure: null }), status } }
    }
    default:
      return { owner: null, fields: requested }
  }
}

/** What left the chain with the blocks above the ancestor is open again, also if that is recorded behind this event. */
function outcomeAfterReorg(source: MintSource, id: string, ancestorNumber: number): Outcome | null {
  const events = source.earlierOf(`${transactionFold.category}-${id}`) as readonly TransactionEvent[]
  const { transaction } = events.reduce(transactionFold.evolve, transactionFold.initialState)
  if (transaction.state === 'unknown') return null
  const { inclusion } = transaction
  return inclusion !== null && inclusion.blockNumber > ancestorNumber ? 'pending' : outcomeIn(transaction)
}

/**
 * Whether the events of the voucher tell this change of one of its transactions: the success and its end, which the logs show,
 * and whatever changes nothing because the voucher is used. Transactions in older logs were not judged by logs.
 *
 * @param earlier the events of the mint before the change
 */
export function isToldByVoucher({ before, after }: TransactionSource, earlier: readonly MintEvent[]): boolean {
  const isJudged = [before, after].some(({ transaction }) => isSuccess(transaction))
  if (isJudged) return true
  const mint = earlier.reduce(evolve, UNKNOWN_MINT)
  return mint.state === 'recorded' && mint.voucher !== null && mint.voucher.use !== null
}

function isSuccess(transaction: TransactionSource['after']['transaction']): boolean {
  return transaction.state !== 'unknown' && transaction.inclusion?.effect === 'logged'
}
