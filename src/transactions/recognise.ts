/**
 * Which transactions on chain are signatures of requests that the log has forgotten: those with the tag of a request.
 * What has no tag and does the same is another program's, unless older versions may have signed it.
 *
 * Invariant: neither a time nor the start of a server decides. What cannot be told apart is held for an operator.
 */
import type { Loaded } from '../event-log/aggregate.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { contentOf, purposeOf } from './content.ts'
import type { Lookalike } from './events.ts'
import type { Lane } from './lanes.ts'
import type { LooseOutside, Outside, OutsideReads } from './outside.ts'
import type { KnownTransaction, TransactionState } from './state.ts'
import { type TagKeys, type TagPurpose, tagsOf } from './tags.ts'

export type Known = { readonly loaded: Loaded<TransactionState>; readonly transaction: KnownTransaction }

/** `own`: signed for it. `foreign`: by another program. `unclear`: it cannot be told. */
export type Recognised =
  | { readonly is: 'own'; readonly known: Known; readonly outside: Outside; readonly purpose: 'bump' | 'cancel' | null }
  | { readonly is: 'foreign'; readonly known: Known; readonly outside: Outside }
  /** An operator decides; `null`: it becomes clear when the chain goes on. */
  | { readonly is: 'unclear'; readonly known: Known; readonly outside: Outside; readonly why: Lookalike['why'] | null }

export type RecogniseSettings = {
  readonly keys: TagKeys
  /** Whether forgotten signatures may have been made by a version that did not tag. */
  readonly untagged: boolean
}

/** Whether these fees have the tag of the transaction. */
export function hasTag(
  keys: TagKeys,
  { loaded, transaction }: Known,
  purpose: TagPurpose,
  tag: number | null,
): boolean {
  return tag !== null && tagsOf(keys, { id: loaded.id, transaction }, purpose).includes(tag)
}

/** Bytes that used the nonce of a signed transaction and are none of its recorded versions. */
export function recogniseNewer({ keys, untagged }: RecogniseSettings, known: Known, outside: Outside): Recognised[] {
  const { transaction } = known
  if (transaction.rejected.includes(outside.hash)) return []
  const { intent } = transaction
  if (outside.content === callOf(known) && hasTag(keys, known, 'send', outside.tag))
    return [{ is: 'own', known, outside, purpose: 'bump' }]
  if (outside.content === contentOf(buildCancellation(intent)) && hasTag(keys, known, 'cancel', outside.tag))
    return [{ is: 'own', known, outside, purpose: 'cancel' }]
  if (purposeOf(transaction, outside.content) === null) return [] // The follower proves that the nonce is lost.
  if (untagged) return [{ is: 'unclear', known, outside, why: 'no_tag' }]
  return [{ is: 'foreign', known, outside }]
}

/** Bytes for requests that wait for their first signature. The requests in order of acceptance. */
export async function recogniseFirst(
  { keys, untagged }: RecogniseSettings,
  reads: Pick<OutsideReads, 'tagged' | 'alike'>,
  lane: Lane,
  requests: readonly Known[],
): Promise<Recognised[]> {
  const open = requests.filter(({ transaction }) => transaction.state === 'requested')
  const byTag = new Map(
    open.flatMap((known) =>
      tagsOf(keys, { id: known.loaded.id, ...known }, 'send').map((tag) => [tag, known] as const),
    ),
  )
  const tagged = byTag.size === 0 ? [] : await reads.tagged(lane, [...byTag.keys()])
  const found = tagged.flatMap((outside): Recognised[] => {
    const known = byTag.get(outside.tag ?? -1)
    return known === undefined || known.transaction.rejected.includes(outside.hash) ? [] : [first(known, outside)]
  })
  return untagged ? [...found, ...(await untaggedFirst(reads, lane, open, tagged))] : found
}

function first(known: Known, outside: LooseOutside): Recognised {
  if (outside.content !== callOf(known)) return { is: 'unclear', known, outside, why: 'other_call' }
  if (outside.isTaken) return { is: 'unclear', known, outside, why: null }
  return { is: 'own', known, outside, purpose: null }
}

/**
 * Of all requests: one that was forgotten and repeated with its idempotency key may have been signed by an older version
 * too, and of several equal ones each may be the one that was.
 */
async function untaggedFirst(
  reads: Pick<OutsideReads, 'alike'>,
  lane: Lane,
  open: readonly Known[],
  tagged: readonly Outside[],
): Promise<Recognised[]> {
  const wanted = open.map((known) => ({ known, content: callOf(known) }))
  const alike = wanted.length === 0 ? [] : await reads.alike(lane, [...new Set(wanted.map(({ content }) => content))])
  const unknown = alike.filter(({ hash }) => !tagged.some((one) => one.hash === hash))
  return wanted.flatMap(({ known, content }) =>
    unknown
      .filter((outside) => outside.content === content && !known.transaction.rejected.includes(outside.hash))
      .map((outside) => ({ is: 'unclear', known, outside, why: 'no_tag' }) as const),
  )
}

function callOf({ transaction }: Known): string {
  return contentOf(buildCall(transaction.intent))
}
