/** The quotas of a tenant: limits that keep one tenant from exhausting the service. */
import { BursarError, type ErrorItem } from './errors.ts'

/** Counted in the database: what exists or is unfinished, across all API processes. */
export const COUNTED_QUOTAS = [
  'wallets',
  'watched_addresses',
  'assets',
  'webhooks',
  'api_keys',
  'transactions_waiting',
  'ceremonies',
] as const
export type CountedQuota = (typeof COUNTED_QUOTAS)[number]

/** Of single requests, for routes that ask nodes a lot, and of what a request made the service read for nothing. */
export const RATE_QUOTAS = [
  'quotes_per_second',
  'calls_per_second',
  'skipped_events_per_second',
  'backtested_events_per_second',
] as const
export type RateQuota = (typeof RATE_QUOTAS)[number]

/** Every quota. Each API process counts the last six on its own. */
export const QUOTAS = [...COUNTED_QUOTAS, 'requests_in_flight', 'bytes_per_second', ...RATE_QUOTAS] as const
export type Quota = (typeof QUOTAS)[number]

/** The limit of each quota; 0 means unlimited. */
export type QuotaLimits = Readonly<Record<Quota, number>>

/** The limits of a tenant. */
export type LimitsOf = (tenantId: string) => QuotaLimits

/** The current use of a quota. */
export type QuotaUse = { readonly quota: Quota; readonly limit: number; readonly used: number }

/** @returns the setting of a quota, for example `QUOTA_WALLETS` */
export function settingOf(quota: Quota): string {
  return `QUOTA_${quota.toUpperCase()}`
}

/** What is counted, and how to free some of it. */
const WORDS: Readonly<Record<Quota, readonly [counted: string, remedy: string]>> = {
  wallets: ['wallets, including archived ones', 'Use or restore an existing wallet'],
  watched_addresses: ['watched addresses, including archived ones', 'Restore an archived wallet'],
  assets: ['registered assets', 'Use the registered assets'],
  webhooks: ['webhooks', 'Delete one'],
  api_keys: ['API keys that are neither revoked nor expired', 'Revoke one'],
  transactions_waiting: ['unmined transactions', 'Wait until some are mined, or cancel some'],
  ceremonies: ['unfinished wallets, share refreshes, signatures and exports', 'Wait until some of them are finished'],
  requests_in_flight: ['concurrent requests', 'Send fewer concurrent requests'],
  bytes_per_second: ['bytes of request and response bodies per second', 'Send the request again later'],
  calls_per_second: ['contract calls per second', 'Send the request again later'],
  quotes_per_second: ['quotes of swaps per second', 'Send the request again later'],
  skipped_events_per_second: [
    'events per second that were read and did not match the filter',
    'Continue with next_after of the last page later',
  ],
  backtested_events_per_second: [
    'events per second that were read to test policies on the past',
    'Send the request again later, or test a shorter time',
  ],
}

/** A tenant has reached a quota. Nothing was recorded. */
export class QuotaExceeded extends BursarError {
  override readonly type = 'rate_limit_error'
  override readonly code: `quota_${Quota}`
  override readonly retryable = true
  readonly use: QuotaUse
  /** When a retry may help; `null` when something must be removed first. */
  readonly retryAfterSeconds: number | null

  constructor(use: QuotaUse, retryAfterSeconds: number | null) {
    const [counted, remedy] = WORDS[use.quota]
    super(
      `The tenant has reached its quota of ${use.limit} ${counted}. ${remedy}, or ask the operator to raise ` +
        `${settingOf(use.quota)} or the tenant's entry in QUOTA_OVERRIDES.`,
    )
    this.code = `quota_${use.quota}`
    this.use = use
    this.retryAfterSeconds = retryAfterSeconds
  }

  override get items(): readonly ErrorItem[] {
    const { quota, limit, used } = this.use
    const details = { quota, setting: settingOf(quota), limit, used, remaining: Math.max(0, limit - used) }
    return [{ type: this.type, code: this.code, message: this.message, details }]
  }
}
