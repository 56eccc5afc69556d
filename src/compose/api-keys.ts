/** Authentication, the routes of API keys, and on which day each was used. */
import { createApiKeyRows } from '../access/api-key-rows.ts'
import { type ApiKeyAuthenticator, createAuthenticator } from '../access/authenticate.ts'
import { createKeyUses } from '../access/key-uses.ts'
import { createCountRequest, takeRequests } from '../access/request-limits.ts'
import { apiKeyRoutes } from '../access/routes.ts'
import type { KeyLimitReached } from '../core/errors.ts'
import { actorOfApiKey } from '../core/messages.ts'
import type { Gate } from '../http/auth.ts'
import type { Routes } from '../http/request.ts'
import type { ComposedApi } from './api-context.ts'

export type ApiKeys = {
  readonly authenticator: ApiKeyAuthenticator
  readonly countRequest: Gate['countRequest']
  readonly routes: Routes
}

export function composeApiKeys(ctx: ComposedApi): ApiKeys {
  const { pool, logger, clock, limitsOfKeys, limitReports, policies } = ctx
  const keys = createApiKeyRows(pool, (keyId, problem) =>
    logger.error({ err: problem, key_id: keyId }, 'the events of an API key were changed; it lets nobody in'),
  )
  const uses = createKeyUses(pool, (error) =>
    logger.warn({ err: error }, 'cannot record when API keys were used; will retry'),
  )
  const timer = () => performance.now()
  const authenticator = createAuthenticator({ keys, clock, timer, onUse: uses.note })
  const count = createCountRequest({ take: (...wanted) => takeRequests(ctx, ...wanted), timer })
  const forgetKey = (keyId: string) => {
    authenticator.forget(keyId)
    limitsOfKeys.forget(keyId)
  }
  const routes = apiKeyRoutes({ ...ctx, keys, forgetKey })
  return {
    authenticator,
    countRequest({ requestLimits, tenantId, keyId }, correlationId) {
      const reported = (refusal: KeyLimitReached | undefined) => {
        if (refusal !== undefined)
          limitReports.refused(refusal, { tenantId, actor: actorOfApiKey(keyId), correlationId })
        return refusal
      }
      const refusal = count(requestLimits)
      return refusal instanceof Promise ? refusal.then(reported) : reported(refusal)
    },
    routes(app) {
      app.addHook('onClose', uses.close)
      app.addHook('onClose', limitReports.close)
      app.addHook('onClose', policies.denialReports.close)
      routes(app)
    },
  }
}
