/** What a rehearsal does and what it shows. */

export type RehearsalStep = {
  readonly to: string
  /** Wei. */
  readonly value: bigint
  /** Call data, `0x` and hex digits. */
  readonly data: string
}

export type StepOutcome = {
  readonly success: boolean
  /**
   * Gas of the execution, without the 21,000 of a transaction and the cost of its call data; after refunds, except with
   * code at the wallet.
   */
  readonly gas: bigint
  /** Return or revert data: its first 16 KiB. */
  readonly data: string
  /** Bytes of all of it. */
  readonly size: number
}

/** A number before the first step and after the last one that was tried. */
export type RehearsedChange = { readonly before: bigint; readonly after: bigint }

export type Rehearsed = {
  /** The steps that were tried: all of them, or those up to the first that failed. */
  readonly steps: readonly StepOutcome[]
  /** The balance of the native currency, wei. Gas is not paid for. */
  readonly native: RehearsedChange
  /** For each read, in order; `null` if the contract returned no word. */
  readonly reads: readonly (RehearsedChange | null)[]
  /** The wallet had code, unlike on chain. */
  readonly hasCode: boolean
}
