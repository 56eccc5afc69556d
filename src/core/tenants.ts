/** How tenants are named: an operator chooses the name when issuing the first key, and it is part of every record. */

/** Lower case only, so that two tenants never differ by case alone where a file system ignores case. */
const TENANT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/

export const TENANT_ID_RULE = '1 to 63 lower-case letters, digits, "_" or "-", starting with a letter or a digit'

export function isTenantId(text: string): boolean {
  return TENANT_ID.test(text)
}
