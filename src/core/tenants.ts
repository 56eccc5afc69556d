/** Tenant names: an operator chooses the name when issuing the first key; every record contains it. */

import type { Environment } from './networks.ts'

/** The tenant and environment of a request: it sees the resources of both. */
export type Owner = { readonly tenantId: string; readonly environment: Environment }

/** Lower case only: where a file system ignores case, two tenants never collide. */
const TENANT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/

export const TENANT_ID_RULE = '1 to 63 lower-case letters, digits, "_" or "-", starting with a letter or a digit'

export function isTenantId(text: string): boolean {
  return TENANT_ID.test(text)
}

/** Owner of the service's own records: followed blocks, joint keys that no wallet uses yet. */
const SYSTEM_TENANT = 'system'
/** Owner of the wallets that the sandbox faucet pays from. */
export const SANDBOX_TENANT = 'sandbox'

/**
 * Tenants of the service itself. An API key for one could read the service's own events or spend the faucet's funds.
 */
const RESERVED_TENANTS: readonly string[] = [SYSTEM_TENANT, SANDBOX_TENANT]

export const RESERVED_TENANT_RULE = `must not be ${RESERVED_TENANTS.join(' or ')}: these names are reserved. Choose another name.`

/** Whether API keys for this tenant are refused. */
export function isReservedTenant(tenantId: string): boolean {
  return RESERVED_TENANTS.includes(tenantId)
}
