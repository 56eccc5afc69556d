/**
 * Which transactions on chain are signatures of requests that the log has forgotten: those with the tag of a request.
 * What has no tag and does the same is another program's, unless older versions may have signed it.
 *
 * Invariant: neither a time nor the start of a server decides. What cannot be told apart is held for an operator.
 */
import type { Loaded } from '../event-log/aggregate.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { contentOf, purposeOf } from './content.ts'
import type { LookalikeCause } from './held-cause.ts'
import type { LooseOutside, Outside, Proven } from './outside.ts'
import type { ShownTransaction } from './read-signed.ts'
import type { KnownTransaction, TransactionState } from './state.ts'
import { type TagKeys, type TagPurpose, tagsOf } from './tags.ts'

export type Known = { readonly loaded: Loaded<TransactionState>; readonly transaction: KnownTransaction }

/** `own`: signed for it. `foreign`: by another program. `unclear`: it waits. */
export type Recognised =
  | {
      readonly is: 'own'
      readonly known: Known
      readonly bytes: ShownTransaction
      readonly purpose: 'bump' | 'cancel' | null
    }
  | { readonly is: 'foreign'; readonly known: Known; readonly outside: Outside }
  | { readonly is: 'unclear'; readonly known: Known; readonly outside: Outside; readonly why: LookalikeCause['kind'] }

export type RecogniseSettings = {
  readonly keys: TagKeys
  /** Whether forgotten signatures may have been made by a version that did not tag. */
  readonly untagged: boolean
}

/** Bytes that used the nonce of a signed transaction and are none of its recorded versions. */
export function recogniseNewer({ keys, untagged }: RecogniseSettings, known: Known, outside: Proven): Recognised[] {
  const { transaction } = known
  const { bytes } = outside
  // What no node shows decides nothing: the follower waits for the decision.
  if (transaction.rejected.includes(outside.hash) || bytes === null) return []
  if (purposeOf(transaction, outside.content) === null) return [] // The follower proves that the nonce is lost.
  if (bytes !== 'foreign') {
    if (outside.content === callOf(known) && hasTag(keys, known, 'send', outside))
      return [{ is: 'own', known, bytes, purpose: 'bump' }]
    if (outside.content === cancellationOf(known) && hasTag(keys, known, 'cancel', outside))
      return [{ is: 'own', known, bytes, purpose: 'cancel' }]
    if (untagged) return [{ is: 'unclear', known, outside, why: 'no_tag' }]
  }
  return [{ is: 'foreign', known, outside }]
}

/**
 * Bytes for requests that wait for their first signature.
 *
 * @param outsides those with the tag of one of the requests, or with its effect
 */
export function recogniseFirst(
  settings: RecogniseSettings,
  requests: readonly Known[],
  outsides: readonly Proven<LooseOutside>[],
): Recognised[] {
  return requests
    .filter(({ transaction }) => transaction.state === 'requested')
    .flatMap((known) => outsides.flatMap((outside) => first(settings, known, outside) ?? []))
}

/**
 * Of bytes without a tag all equal requests wait: one that was forgotten and repeated with its idempotency key may have
 * been signed by an older version too.
 */
function first({ keys, untagged }: RecogniseSettings, known: Known, outside: Proven<LooseOutside>): Recognised | null {
  const { rejected, abandoned } = known.transaction
  const { bytes, hash, nonce, isTaken } = outside
  if (rejected.includes(hash) || bytes === 'foreign') return null
  const isTagged = hasTag(keys, known, 'send', outside)
  const isSame = outside.content === callOf(known)
  if (bytes === null) return isTagged || isSame ? { is: 'unclear', known, outside, why: 'not_shown' } : null
  if (!isTagged) return isSame && untagged ? { is: 'unclear', known, outside, why: 'no_tag' } : null
  if (isSame)
    return isTaken ? { is: 'unclear', known, outside, why: 'nonce_taken' } : { is: 'own', known, bytes, purpose: null }
  // The log names what used a nonce that the request lost: it is known not to be this request.
  return abandoned.some((attempt) => attempt.nonce === nonce)
    ? null
    : { is: 'unclear', known, outside, why: 'other_call' }
}

/** The tags under which a request is looked for. */
export function tagsToFind(keys: TagKeys, { loaded, transaction }: Known): readonly number[] {
  return tagsOf(keys, { id: loaded.id, transaction }, 'send')
}

function hasTag(keys: TagKeys, { loaded, transaction }: Known, purpose: TagPurpose, { tag }: Outside): boolean {
  return tag !== null && tagsOf(keys, { id: loaded.id, transaction }, purpose).includes(tag)
}

/** The digest of what it does. */
export function callOf({ transaction }: Known): string {
  return contentOf(buildCall(transaction.intent))
}

function cancellationOf({ transaction }: Known): string {
  return contentOf(buildCancellation(transaction.intent))
}
