/** The settings of a tenant's quotas, from their declarations. Each default is finite and far above what an honest tenant uses. */
import { Type } from '@sinclair/typebox'
import { type DeclaredSettings, declareSettings, type Schemas } from '../config/declare-settings.ts'
import { list } from '../config/schema-kinds.ts'
import { type LimitsOf, type QuotaLimits, settingOf } from '../core/quotas.ts'
import type { DeclaredQuotas, Quota } from '../core/registry.ts'

/** Large enough for `bytes_per_second` of a fast network card. */
const LARGEST = 1_000_000_000

export function quotaSettings(quotas: DeclaredQuotas): { readonly quotasOf: DeclaredSettings<LimitsOf> } {
  const names = Object.keys(quotas) as readonly Quota[]
  const limits: Schemas = Object.fromEntries(
    names.map((quota) => {
      const { default: value, description } = quotas[quota]
      const schema = { minimum: 0, maximum: LARGEST, default: value, description: `${description}. 0 means no limit.` }
      return [settingOf(quota), Type.Integer(schema)]
    }),
  )
  const QUOTA_OVERRIDES = list(
    `^[a-z0-9][a-z0-9_-]{0,62}:(${names.join('|')})=[0-9]{1,9}$`,
    `must be a comma-separated list of tenant:quota=limit, where quota is one of ${names.join(', ')}`,
    {
      description: 'Quotas of individual tenants, which replace the quotas above: `acme:wallets=500000,acme:assets=0`.',
    },
  )
  return {
    quotasOf: declareSettings({
      group: 'limits',
      settings: { ...limits, QUOTA_OVERRIDES },
      read: (values: Readonly<Record<string, unknown>>) => limitsOf(values, names),
    }),
  }
}

/** @returns the limits of each tenant: those of the installation, with the tenant's overrides */
function limitsOf(values: Readonly<Record<string, unknown>>, names: readonly Quota[]): LimitsOf {
  const defaults = Object.fromEntries(names.map((quota) => [quota, values[settingOf(quota)]])) as QuotaLimits
  const byTenant = new Map<string, QuotaLimits>()
  for (const text of (values.QUOTA_OVERRIDES ?? []) as readonly string[]) {
    const [, tenantId = '', quota = '', value = ''] = /^(.*):(.*)=(.*)$/.exec(text) ?? []
    byTenant.set(tenantId, { ...(byTenant.get(tenantId) ?? defaults), [quota as Quota]: Number(value) })
  }
  return (tenantId) => byTenant.get(tenantId) ?? defaults
}

declare module '../config.ts' {
  interface CapabilityConfig {
    /** The quotas of each tenant. */
    readonly quotasOf: LimitsOf
  }
}
