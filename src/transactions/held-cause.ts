/**
 * Why a signer signs nothing new in a lane, or leaves one transaction of it alone: a closed list, each cause with its text
 * and the next step of an operator. `stuck`, `reconcile` and the signer's log print the same text.
 *
 * A new cause is a member here; a test takes each of them and compares it with what `stuck` reports.
 */

export type HeldCause =
  /** @param reason as the watch for restores gives it */
  | { readonly kind: 'log_refused'; readonly reason: string }
  | { readonly kind: 'not_walked'; readonly until: number; readonly next: number; readonly cursor: number | null }
  | ({ readonly kind: 'nonce_given' } & SeenElsewhere)
  | ({ readonly kind: 'not_returned' } & SeenElsewhere)
  /** Only this transaction waits; others of the lane are signed. */
  | { readonly kind: 'not_simulated'; readonly transactionId: string; readonly reason: string }

/** A transaction that the follower has seen and that does what a request asks for. */
type SeenElsewhere = { readonly hash: string; readonly nonce: number; readonly transactionId: string }

type Words<Cause> = { readonly text: (cause: Cause) => string; readonly next: (cause: Cause) => string }

const has = ({ hash, nonce, transactionId }: SeenElsewhere) =>
  `the follower has seen ${hash} with nonce ${nonce}, which has the effect that ${transactionId} requests`

export const HELD_CAUSES: { readonly [K in HeldCause['kind']]: Words<Extract<HeldCause, { readonly kind: K }>> } = {
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
  nonce_given: {
    text: (cause) => `${has(cause)}, but the log has given that nonce to another transaction`,
    next: () => 'Wait until the block is final: the other transaction then gets a new nonce, and this one is recorded.',
  },
  not_returned: {
    text: (cause) => `${has(cause)}, but the node does not return it now`,
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
