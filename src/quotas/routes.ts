/** The HTTP route of a tenant's quotas. */

import { Type } from '@sinclair/typebox'
import type { LimitsOf } from '../core/quotas.ts'
import type { CountedQuota, DeclaredQuotas, Quota } from '../core/registry.ts'
import { named } from '../http/components.ts'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { nullable, oneOf } from '../http/schemas.ts'

const count = (description: string, example: number) =>
  nullable(Type.Integer({ description, minimum: 0, examples: [example] }))

const quotaSchema = (quotas: readonly Quota[]) =>
  named(
    'Quota',
    Type.Object({
      quota: oneOf(quotas, { description: 'The name of the quota.', examples: ['wallets'] }),
      limit: count('The limit. Null for no limit.', 100_000),
      used: count(
        'The usage, at most a few seconds old. Null for a quota that each API process counts separately.',
        1_200,
      ),
      remaining: count('The limit minus the usage. Null if the usage is not known or there is no limit.', 98_800),
    }),
  )

const list = (quotas: readonly Quota[]) => ({
  tags: ['Quotas'],
  operationId: 'listQuotas',
  summary: 'List quotas',
  description:
    'Lists the limits of your tenant and their usage. A request that would exceed a quota is refused with 429 and has no effect.',
  response: {
    200: successOf(
      named('QuotaList', Type.Object({ quotas: Type.Array(quotaSchema(quotas), { description: 'All quotas.' }) })),
      'The quotas.',
    ),
  },
})

export function quotaRoutes({
  declared,
  limitsOf,
  usage,
}: {
  readonly declared: DeclaredQuotas
  readonly limitsOf: LimitsOf
  readonly usage: (tenantId: string, quota: CountedQuota) => Promise<number>
}): Routes {
  const quotas = Object.keys(declared) as readonly Quota[]
  const counted = quotas.filter((quota): quota is CountedQuota => declared[quota].kind === 'counted')
  return (app) => {
    app.get(
      '/v1/quotas',
      { schema: list(quotas), config: { scope: 'wallets:read' } },
      async ({ caller: { tenantId } }) => {
        const limits = limitsOf(tenantId)
        const uses = await Promise.all(counted.map(async (quota) => [quota, await usage(tenantId, quota)] as const))
        const used = new Map<string, number>(uses)
        return success({
          quotas: quotas.map((quota) => {
            const limit = limits[quota] === 0 ? null : limits[quota]
            const inUse = used.get(quota) ?? null
            const remaining = limit === null || inUse === null ? null : Math.max(0, limit - inUse)
            return { quota, limit, used: inUse, remaining }
          }),
        })
      },
    )
  }
}
