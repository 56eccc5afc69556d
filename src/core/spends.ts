/** What a call allows others to spend. */

export type Spend = {
  readonly kind: 'approve' | 'increase_allowance' | 'permit' | 'set_approval_for_all' | 'permit2' | 'unreadable'
  /** The contract whose tokens may be spent, EIP-55; `null` for `unreadable`. */
  readonly token: string | null
  /** EIP-55; `null` for `unreadable`. */
  readonly spender: string | null
  /** Base units; '0' revokes. `approve` of an ERC-721 has the id of the token here: both calls have one selector. */
  readonly amount: string
}

/** The `amount` of an allowance that no use reduces, or of all tokens of a collection. */
export const UNLIMITED = 'unlimited'

/** Whether a spend has no limit: nothing but a revocation ends it. */
export function isUnlimited({ amount }: Spend): boolean {
  return amount === UNLIMITED
}
