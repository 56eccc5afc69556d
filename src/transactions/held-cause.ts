/**
 * Why a signer signs nothing new in a lane, or leaves one transaction of it alone: a closed list, each cause with its text
 * and the next step of an operator. `stuck`, `reconcile` and the signer's log print the same text.
 *
 * A new cause is a member here; a test takes each of them and compares it with what `stuck` reports.
 */
import { withoutQuorum } from '../chain/agreement.ts'

/** How long a lane waits for a transaction count that nothing explains: the follower reads a block within seconds. */
export const DOUBT_MINUTES = 10

export type HeldCause =
  /** @param reason as the watch for restores gives it */
  | { readonly kind: 'log_refused'; readonly reason: string }
  | { readonly kind: 'not_walked'; readonly until: number; readonly next: number; readonly cursor: number | null }
  /** @param answered of so many nodes, where a quorum has to say the same before the first signature after a start */
  | { readonly kind: 'too_few_nodes'; readonly answered: number; readonly nodes: number; readonly needed: number }
  /** @param explained the nonce below which the log and the processed blocks know every transaction */
  | {
      readonly kind: 'count_doubted'
      readonly hosts: readonly string[]
      readonly count: number
      readonly explained: number
    }
  | LookalikeCause
  /** Only this transaction waits; others of the lane are signed. */
  | { readonly kind: 'not_simulated'; readonly transactionId: string; readonly reason: string }

/** A transaction on chain may fulfil the request, which waits; others of the lane are signed. */
export type LookalikeCause = {
  readonly kind: 'no_tag' | 'other_call' | 'nonce_taken' | 'not_shown'
  readonly transactionId: string
  readonly hash: string
  readonly nonce: number
}

/** The cause of a kind. */
export type HeldCauseOf<Kind extends HeldCause['kind']> = Kind extends LookalikeCause['kind']
  ? LookalikeCause
  : Extract<HeldCause, { readonly kind: Kind }>

type Words<Cause> = { readonly text: (cause: Cause) => string; readonly next: (cause: Cause) => string }

const one = ({ transactionId, hash, nonce }: LookalikeCause) => `${transactionId}: ${hash} with nonce ${nonce}`

export const HELD_CAUSES: { readonly [K in HeldCause['kind']]: Words<HeldCauseOf<K>> } = {
  log_refused: {
    text: ({ reason }) => reason,
    next: () => 'Read docs/operations.md, "A log that is shorter than the auditor\'s file".',
  },
  not_walked: {
    text: ({ until, next, cursor }) =>
      `nodes show transactions of this address up to nonce ${until - 1}, but the log has only nonces below ${next}: ` +
      `the follower must first read their blocks, and it is at block ${cursor ?? 'none'}`,
    next: () => 'Check that the follower catches up: the lane then continues automatically.',
  },
  too_few_nodes: {
    text: (cause) =>
      `after a start of the signer or of the database ${withoutQuorum(cause, cause.answered)} before new nonces are given`,
    next: () => 'Check the nodes of the chain: the lane continues when enough of them answer.',
  },
  count_doubted: {
    text: ({ hosts, count, explained }) =>
      `${hosts.join(', ')} alone says that this address has sent ${count} transactions, and the log and the processed blocks ` +
      `know only nonces below ${explained}`,
    next: ({ hosts }) =>
      `Compare ${hosts.join(', ')} with an explorer, and remove it from the RPC URLs if it is wrong. After ${DOUBT_MINUTES} minutes the lane continues with what a quorum of the nodes says.`,
  },
  no_tag: {
    text: (cause) =>
      `${one(cause)} does the same and has no tag, as older versions signed: an operator must say whether it is this request`,
    next: ({ hash, transactionId }) =>
      `Look up ${hash}. If it paid this request: npm run bursar -- reconcile --claim ${transactionId} --hash ${hash}; if not: npm run bursar -- reconcile --new ${transactionId} --hash ${hash}.`,
  },
  other_call: {
    text: (cause) =>
      `${one(cause)} has the tag of this request and does something else: an operator must say whether to sign it`,
    next: ({ hash, transactionId }) =>
      `Its idempotency key was used for something else before the restore. To sign it: npm run bursar -- reconcile --new ${transactionId} --hash ${hash}; to drop it, its owner cancels it.`,
  },
  nonce_taken: {
    text: (cause) =>
      `${one(cause)} has the tag of this request, and the log has given its nonce to another transaction, which gets a new one`,
    next: () => 'Wait until the block is final: the other transaction then gets a new nonce, and this one is recorded.',
  },
  not_shown: {
    text: (cause) => `${one(cause)} has the tag of this request, and the node does not return it now`,
    next: ({ hash, transactionId }) =>
      `Add a node that returns ${hash} to the RPC URLs. If there is none, look it up in an explorer; if it paid, cancel ${transactionId}.`,
  },
  not_simulated: {
    text: ({ transactionId, reason }) => `no node can simulate ${transactionId}: ${reason}`,
    next: ({ transactionId }) =>
      `Check the nodes of the chain; it is tried again automatically. Or cancel ${transactionId}.`,
  },
}

/** What the lane waits for, without its full stop. */
export function heldText(cause: HeldCause): string {
  return wordsOf(cause).text(cause)
}

/** The first step of an operator. */
export function heldNext(cause: HeldCause): string {
  return wordsOf(cause).next(cause)
}

function wordsOf({ kind }: HeldCause): Words<HeldCause> {
  return HELD_CAUSES[kind] as Words<never> as Words<HeldCause>
}
