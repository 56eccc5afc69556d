/** The updates of a token of a DYNAMIC collection since its mint, including pending ones. */
import { outcomeOf } from '../outcome.ts'

export const UPDATE_STATUSES = ['PENDING', 'DONE', 'FAILED'] as const
export type UpdateStatus = (typeof UPDATE_STATUSES)[number]

const STATUS = { pending: 'PENDING', done: 'DONE', failed: 'FAILED' } as const

/** A row of `nft_token_updates` with the outcome of its transaction. */
export type UpdateRow = {
  /** Null for a freeze. */
  readonly cid: string | null
  readonly transaction_id: string
  readonly state: string
  readonly succeeded: boolean | null
  readonly hash: string | null
  readonly failure: { readonly code: string; readonly message: string } | null
}

export type UpdatesView = {
  /** The value of `metadata_uri` if the newest pending change succeeds; null when none is pending. */
  readonly pending_metadata_uri: string | null
  readonly frozen: boolean
  readonly last_update: {
    readonly type: 'METADATA' | 'FREEZE'
    readonly status: UpdateStatus
    readonly transaction_id: string
    readonly transaction_hash: string | null
    readonly failure: UpdateRow['failure']
  } | null
}

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
