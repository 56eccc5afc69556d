/**
 * What the parties do together, as those see it who ask for it: they make a joint key, and they make its shares anew.
 *
 * Invariant: nothing that a ceremony leaves with the parties counts before the log says so. The append of the caller is what
 * commits, so whatever dies before it changes nothing.
 */

/** What the log says of a joint key. Nothing in it is secret. */
export type JointKey = {
  readonly keyId: string
  /** How many parties sign together. */
  readonly threshold: number
  /** Who holds a share: 1, 2, … */
  readonly parties: readonly number[]
  /** 0 for the shares that were made with the key; each refresh makes it one more. */
  readonly epoch: number
  /** The `refreshId` under which the shares of this epoch were prepared; `null` for epoch 0. */
  readonly refreshId: string | null
  /** 33 bytes, compressed, as 0x-prefixed hex. */
  readonly publicKey: string
  /** EIP-55. */
  readonly address: string
  /** Who may not sign with this key until its shares are refreshed. */
  readonly banned: readonly number[]
  /** Pairs of which one said of the other that it failed a check: nobody knows which of them lies, so they do not sign together. */
  readonly apart: readonly (readonly [number, number])[]
}

/**
 * What the log says of joint keys at this moment: those that it does not have are left out.
 *
 * @throws Unavailable when the log cannot be read
 */
export type JointKeysOf = (keyIds: readonly string[]) => Promise<ReadonlyMap<string, JointKey>>

/** Every id is used for one attempt alone, so that parties never mix what two attempts left with them. */
export type Ceremonies = {
  /**
   * Makes a key of which nobody ever has more than a share. Every party holds its share durably when this returns; it counts
   * once the log has the key. What an attempt left with a party is never replaced, since the log may be about to name it: a
   * second call with the same id fails there.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`
   */
  readonly generateKey: (request: {
    readonly keyId: string
    readonly threshold: number
    readonly parties: readonly number[]
  }) => Promise<{ readonly publicKey: string; readonly address: string }>
  /**
   * Makes new shares of the same key. Every party holds its new share, as prepared under `refreshId`, beside the old one when
   * this returns; the new ones take the place of the old ones once the log names that id.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`; Conflict `mpc_share_lost` when a party has no share
   */
  readonly prepareRefresh: (request: { readonly key: JointKey; readonly refreshId: string }) => Promise<void>
  /**
   * As `prepareRefresh`, for a party that lost its share: that share is repaired from those of the others, and all are
   * refreshed in the same ceremony.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`
   */
  readonly prepareRecovery: (request: {
    readonly key: JointKey
    readonly party: number
    readonly refreshId: string
  }) => Promise<void>
}
