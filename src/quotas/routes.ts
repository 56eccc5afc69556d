/** What a tenant has of each quota, over HTTP. */
import { Type } from '@sinclair/typebox'
import { COUNTED_QUOTAS, type CountedQuota, type LimitsOf, QUOTAS } from '../core/quotas.ts'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { nullable, oneOf } from '../http/schemas.ts'

const count = (description: string, example: number) =>
  nullable(Type.Integer({ description, minimum: 0, examples: [example] }))

const quotaSchema = Type.Object({
  quota: oneOf(QUOTAS, { description: 'What is limited.', examples: ['wallets'] }),
  limit: count('How much the tenant may have; null for no limit.', 100_000),
  used: count(
    'How much of it is in use, at most a few seconds old; null for what each API process counts for itself.',
    1_200,
  ),
  remaining: count('How much is left; null where that is not known, or there is no limit.', 98_800),
})

const list = {
  tags: ['Quotas'],
  summary: 'List quotas',
  description:
    'How much your tenant may have, and what is in use. A request that would go beyond a quota is refused with 429, and nothing is recorded.',
  response: { 200: successOf(Type.Object({ quotas: Type.Array(quotaSchema) }), 'The quotas.') },
}

export type QuotaRoutePorts = {
  readonly limitsOf: LimitsOf
  readonly usage: (tenantId: string, quota: CountedQuota) => Promise<number>
}

export function quotaRoutes({ limitsOf, usage }: QuotaRoutePorts): Routes {
  return (app) => {
    app.get('/v1/quotas', { schema: list, config: { scope: 'wallets:read' } }, async ({ caller: { tenantId } }) => {
      const limits = limitsOf(tenantId)
      const uses = await Promise.all(
        COUNTED_QUOTAS.map(async (quota) => [quota, await usage(tenantId, quota)] as const),
      )
      const used = new Map<string, number>(uses)
      return success({
        quotas: QUOTAS.map((quota) => {
          const limit = limits[quota] === 0 ? null : limits[quota]
          const inUse = used.get(quota) ?? null
          const remaining = limit === null || inUse === null ? null : Math.max(0, limit - inUse)
          return { quota, limit, used: inUse, remaining }
        }),
      })
    })
  }
}
