/** How the webhooks of all tenants do, as the operator commands show it. */

/** How a webhook does. Times are ms up to now. */
export type WebhookNow = {
  readonly id: string
  readonly tenantId: string
  readonly environment: string
  readonly url: string
  readonly status: 'enabled' | 'disabled'
  /** `null` while it is enabled. */
  readonly disabledReason: 'gone' | 'failing' | 'requested' | null
  /** Since it was created, changed, enabled or disabled. */
  readonly changedMs: number
  /** Events that wait. */
  readonly pending: number
  /** Since the oldest of them was queued; `null` without one. */
  readonly oldestMs: number | null
  /** Since one could have been sent; `null` without one. */
  readonly dueMs: number | null
  /** Since the first failure after the last success; `null` while they succeed. */
  readonly failingMs: number | null
  readonly succeededMs: number | null
  /** Deliveries that its receiver refused in a row; 0 while it takes some, or does not answer. */
  readonly refused: number
  /** Deliveries that were given up. */
  readonly gaps: number
  /** The newest attempt since it fails: its HTTP status, or why there was no response. */
  readonly lastStatus: number | null
  readonly lastError: string | null
}

/** A replay that is not complete. Times are ms up to now. */
export type ReplayNow = {
  readonly id: string
  readonly webhookId: string
  /** `waits_for_receiver`: as many deliveries are pending as may be. `expired`: nobody began it, and nobody will. */
  readonly state: 'running' | 'waits_for_receiver' | 'waits_until_enabled' | 'expired'
  /** Deliveries that it has queued. */
  readonly added: number
  readonly requestedMs: number
  /** Since it last got further, or else since its request. */
  readonly idleMs: number
}

export type WebhooksNow = {
  /** The name of the subscription that decides what is sent. */
  readonly subscription: string
  /** Since the oldest event was recorded that it could have read; 0 if it read all, or there is no webhook. */
  readonly lagMs: number
  /** Those with a problem first. */
  readonly webhooks: readonly WebhookNow[]
  /** Of these webhooks, oldest first. Expired ones are left out after another week. */
  readonly replays: readonly ReplayNow[]
}
