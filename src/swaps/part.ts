/** What a swap records of its transaction. Types alone. */
import type { AssetRef } from '../transactions/intent.ts'

/** What a swap exchanges, as accepted. Base units. */
export type SwapIntent = {
  readonly amountType: 'exact_input' | 'exact_output'
  readonly toAsset: AssetRef
  /** The quoted amounts. */
  readonly fromAmount: string
  readonly toAmount: string
  /** The least that an exact input gives, or the most that an exact output takes: the call data contains it. */
  readonly limit: string
  /** The wrapped native token, whose logs show what was exchanged of the native currency; `null` if there is none. */
  readonly wrapped: string | null
  /** The transaction that sets the allowance; `null` when none was needed. */
  readonly approvalTransactionId: string | null
  /** By call data of a hosted source, through the guard: the lane executes it in a simulation, and signs nothing below `limit`. */
  readonly hosted?: true
  /**
   * Host and port of the private relays that its bytes may be sent to, and to nothing else. Missing without relays, and
   * in older logs: then the setting of the submitter decides.
   */
  readonly relays?: readonly string[]
}

declare module '../transactions/intent.ts' {
  interface IntentParts {
    readonly swap?: SwapIntent
  }
}
