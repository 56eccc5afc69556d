/** The settings of a tenant's quotas. Each default is finite and far above what an honest tenant uses. */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { type LimitsOf, QUOTAS, type Quota, type QuotaLimits, settingOf } from '../core/quotas.ts'
import { list } from './schema-kinds.ts'

/** Large enough for `bytes_per_second` of a fast network card. */
const LARGEST = 1_000_000_000

const limit = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: LARGEST, default: value, description: `${description}. 0 means no limit.` })

export const QUOTA_SETTINGS = {
  // A wallet is a few rows and costs nothing while idle: an exchange with a deposit address for each customer fits.
  QUOTA_WALLETS: limit(100_000, 'Maximum number of hd and mpc wallets of a tenant, including archived ones'),
  // Fewer than wallets: watching costs the tenant nothing, and the follower reads each active address at each block.
  QUOTA_WATCHED_ADDRESSES: limit(10_000, 'Maximum number of watched addresses of a tenant, including archived ones'),
  // Each is a third-party contract whose balances are read for every wallet; a large portfolio has some hundred.
  QUOTA_ASSETS: limit(500, 'Maximum number of ERC-20 contracts that a tenant can register'),
  // Each event is sent once for each webhook that wants it.
  QUOTA_WEBHOOKS: limit(50, 'Maximum number of webhooks of a tenant'),
  // A tenth of those that an API process remembers: one tenant cannot make it ask for those of all others again.
  QUOTA_API_KEYS: limit(
    1_000,
    'Maximum number of API keys of a tenant that are neither revoked nor expired. The command of the operator is not limited',
  ),
  // One hour of transfers at 25 per second, on chains that mine none of them.
  QUOTA_TRANSACTIONS_WAITING: limit(100_000, 'Maximum number of unmined transactions of a tenant'),
  // Each takes tens of milliseconds of a signer, more with mpc parties: a thousand finish within a minute or two.
  QUOTA_CEREMONIES: limit(
    1_000,
    'Maximum number of unfinished wallets, share refreshes, signatures (of messages, typed data, vouchers) and exports of a tenant, in total',
  ),
  // 100 requests per second that each wait ten seconds, for example for the address of a wallet.
  QUOTA_REQUESTS_IN_FLIGHT: limit(1_000, 'Maximum number of concurrent requests of a tenant per API process'),
  // 100 pages of 80 KB per second. One core writes ten times that.
  QUOTA_BYTES_PER_SECOND: limit(
    8 * 1_024 * 1_024,
    'Maximum size of request and response bodies of a tenant in bytes per second and API process. A burst can use ten seconds of it',
  ),
  // A quote takes some 20 ms of processor time, and dozens of reads of a node.
  QUOTA_QUOTES_PER_SECOND: limit(
    10,
    'Maximum number of swap quotes of a tenant per second and API process. A burst can use ten seconds of it',
  ),
  // A call asks a node up to five times before it is accepted.
  QUOTA_CALLS_PER_SECOND: limit(
    50,
    'Maximum number of contract calls of a tenant per second and API process, in every mode. A burst can use ten seconds of it',
  ),
  // To look at one costs up to 0.2 ms of a process. Filters find their events by an index: few are looked at for nothing.
  QUOTA_SKIPPED_EVENTS_PER_SECOND: limit(
    1_000,
    'Maximum number of events of the log per second and API process that are read for a tenant and do not match the filter of its reader. A burst can use ten seconds of it',
  ),
  // A test judges some 20,000 in a second of a process: one tenant has at most a third of it for long.
  QUOTA_BACKTESTED_EVENTS_PER_SECOND: limit(
    10_000,
    'Maximum number of events of the log per second and API process that are read to test policies of a tenant on the past. A burst can use ten seconds of it',
  ),
  QUOTA_OVERRIDES: list(
    `^[a-z0-9][a-z0-9_-]{0,62}:(${QUOTAS.join('|')})=[0-9]{1,9}$`,
    `must be a comma-separated list of tenant:quota=limit, where quota is one of ${QUOTAS.join(', ')}`,
    {
      description: 'Quotas of individual tenants, which replace the quotas above: `acme:wallets=500000,acme:assets=0`.',
    },
  ),
}

type QuotaInput = Static<TObject<typeof QUOTA_SETTINGS>>

/** @returns the limits of each tenant: those of the installation, with the tenant's overrides */
export function quotaConfig(input: QuotaInput): LimitsOf {
  const defaults = Object.fromEntries(
    QUOTAS.map((quota) => [quota, (input as Readonly<Record<string, unknown>>)[settingOf(quota)]]),
  ) as QuotaLimits
  const byTenant = new Map<string, QuotaLimits>()
  for (const text of input.QUOTA_OVERRIDES ?? []) {
    const [, tenantId = '', quota = '', value = ''] = /^(.*):(.*)=(.*)$/.exec(text) ?? []
    byTenant.set(tenantId, { ...(byTenant.get(tenantId) ?? defaults), [quota as Quota]: Number(value) })
  }
  return (tenantId) => byTenant.get(tenantId) ?? defaults
}
