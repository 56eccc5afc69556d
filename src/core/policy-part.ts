/** What an opening event records of the policy that judged it: with the rest of the event, all that a rule needs but windows. */
export type PolicyPart = {
  /** Of the active version; 0 if there is only a shadow. */
  readonly version: number
  /** Of the version that only reports. */
  readonly shadow?: number
  /** Of the wallet, by then. */
  readonly tags: readonly string[]
  /**
   * Of what it moves, as far as they were known. `usd`: US dollars for a whole unit, as of `at`, ISO 8601 UTC. Missing if no rule of the
   * versions compares US dollars.
   */
  readonly prices?: readonly { readonly assetId: string; readonly usd: string; readonly at: string }[]
}
