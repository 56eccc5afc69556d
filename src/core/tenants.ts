/** How tenants are named: an operator chooses the name when issuing the first key, and it is part of every record. */

/** Lower case only, so that two tenants never differ by case alone where a file system ignores case. */
const TENANT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/

export const TENANT_ID_RULE = '1 to 63 lower-case letters, digits, "_" or "-", starting with a letter or a digit'

export function isTenantId(text: string): boolean {
  return TENANT_ID.test(text)
}

/** What the service records of itself: blocks that were followed, joint keys that no wallet has yet. */
const SYSTEM_TENANT = 'system'
/** Owns the wallets that the faucet of the sandbox pays from. */
export const SANDBOX_TENANT = 'sandbox'

/** Tenants of the service itself. A key of one would read the service's own events, or spend the faucet's funds. */
const RESERVED_TENANTS: readonly string[] = [SYSTEM_TENANT, SANDBOX_TENANT]

export const RESERVED_TENANT_RULE = `must not be ${RESERVED_TENANTS.join(' or ')}: the service itself uses these tenants. Choose another name.`

/** Whether no API key may be issued to the tenant. */
export function isReservedTenant(tenantId: string): boolean {
  return RESERVED_TENANTS.includes(tenantId)
}
