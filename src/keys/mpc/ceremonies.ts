/**
 * The ceremonies of mpc parties from the caller's view: creating a joint key, and refreshing its shares.
 *
 * Invariant: nothing that a ceremony stores at the parties is in force before the log names it. The caller's append
 * commits it, so a failure before that changes nothing.
 */

/** A joint key as recorded in the log. All fields are public. */
export type JointKey = {
  readonly keyId: string
  /** Number of parties that sign together. */
  readonly threshold: number
  /** The parties that hold a share: 1, 2, … */
  readonly parties: readonly number[]
  /** 0 for the shares created with the key; each refresh increments it. */
  readonly epoch: number
  /** The `refreshId` under which the shares of this epoch were prepared; `null` for epoch 0. */
  readonly refreshId: string | null
  /** 33 bytes, compressed, as 0x-prefixed hex. */
  readonly publicKey: string
  /** EIP-55. */
  readonly address: string
  /** Parties that must not sign with this key until its shares are refreshed. */
  readonly banned: readonly number[]
  /**
   * Pairs in which one party reported that the other failed a check: it is unknown which one lies, so they do not sign
   * together.
   */
  readonly apart: readonly (readonly [number, number])[]
}

/**
 * The current state of joint keys in the log; unknown keys are left out.
 *
 * @throws Unavailable when the log cannot be read
 */
export type JointKeysOf = (keyIds: readonly string[]) => Promise<ReadonlyMap<string, JointKey>>

/** Each id is used for one attempt only, so that parties never mix the results of two attempts. */
export type Ceremonies = {
  /**
   * Creates a key of which nobody ever has more than a share. When this returns, every party has stored its share
   * durably; the key is in force once it is in the log. The result of an attempt is never replaced at a party, since
   * the log may be about to name it: a second call with the same id fails there.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`
   */
  readonly generateKey: (request: {
    readonly keyId: string
    readonly threshold: number
    readonly parties: readonly number[]
  }) => Promise<{ readonly publicKey: string; readonly address: string }>
  /**
   * Creates new shares of the same key. When this returns, every party has stored its new share, prepared under
   * `refreshId`, beside the old one; the new shares replace the old ones once the log names that id.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`; Conflict `mpc_share_lost` when a party has no
   *   share
   */
  readonly prepareRefresh: (request: { readonly key: JointKey; readonly refreshId: string }) => Promise<void>
  /**
   * As `prepareRefresh`, for a party that lost its share: the share is repaired from those of the others, and all
   * shares are refreshed in the same ceremony.
   *
   * @throws Unavailable `mpc_parties_unavailable`, `mpc_ceremony_failed`
   */
  readonly prepareRecovery: (request: {
    readonly key: JointKey
    readonly party: number
    readonly refreshId: string
  }) => Promise<void>
}
