/** The updates of a token of a DYNAMIC collection since its mint, including pending ones. */
import type { Row } from '../../event-log/table-rows.ts'
import { type Fate, outcomeOf } from '../outcome.ts'
import type { TokenDetailView } from './mint-view.ts'

const STATUS = { pending: 'PENDING', done: 'DONE', failed: 'FAILED' } as const

/** A row of `nft_token_updates` with the outcome of its transaction; without a CID, a freeze. */
export type UpdateRow = Pick<Row<'nft_token_updates'>, 'cid' | 'transaction_id'> & Fate

export type UpdatesView = Pick<TokenDetailView, 'pending_metadata_uri' | 'frozen' | 'last_update'>

/** @param updates in order of acceptance */
export function toUpdates(updates: readonly UpdateRow[], baseUri: string): UpdatesView {
  const isIn = (outcome: ReturnType<typeof outcomeOf>) => (update: UpdateRow) => outcomeOf(update) === outcome
  const pending = updates.filter(isIn('pending')).findLast(({ cid }) => cid !== null)
  const last = updates.at(-1)
  return {
    pending_metadata_uri: pending === undefined ? null : `${baseUri}${pending.cid}`,
    frozen: updates.filter(isIn('done')).some(({ cid }) => cid === null),
    last_update:
      last === undefined
        ? null
        : {
            type: last.cid === null ? 'FREEZE' : 'METADATA',
            status: STATUS[outcomeOf(last)],
            transaction_id: last.transaction_id,
            transaction_hash: last.hash,
            failure: last.failure,
          },
  }
}
