/** What lets the requests of API keys in, made once in a process: what it remembers of keys, and on which day each was used. */
import type { Context } from '../context.ts'
import type { KeyLimitReached } from '../core/errors.ts'
import { actorOfApiKey } from '../core/messages.ts'
import { type ApiKeyRows, createApiKeyRows } from './api-key-rows.ts'
import { type ApiKeyAuthenticator, type Caller, createAuthenticator } from './authenticate.ts'
import { createKeyUses } from './key-uses.ts'
import type { LimitsOfKeys } from './limits-of-keys.ts'
import type { LimitReports } from './report-limits.ts'
import { createCountRequest, takeRequests } from './request-limits.ts'

type Refusal = KeyLimitReached | undefined

export type KeyGate = {
  readonly authenticator: ApiKeyAuthenticator
  /** Counts a request towards the limits of its key. @returns the refusal, which is reported, or `undefined` */
  readonly countRequest: (
    caller: Pick<Caller, 'requestLimits' | 'tenantId' | 'keyId'>,
    correlationId: string,
  ) => Refusal | Promise<Refusal>
  readonly rows: Pick<ApiKeyRows, 'byDigest'>
  /** Makes this process see the change of a key at once. */
  readonly forgetKey: (keyId: string) => void
  /** Records the days of use that are not recorded yet. */
  readonly close: () => Promise<void>
}

export function createKeyGate(
  ctx: Pick<Context, 'pool' | 'logger' | 'clock'> & {
    readonly limitsOfKeys: LimitsOfKeys
    readonly limitReports: LimitReports
  },
): KeyGate {
  const { pool, logger, clock, limitsOfKeys, limitReports } = ctx
  const rows = createApiKeyRows(pool, (keyId, problem) =>
    logger.error({ err: problem, key_id: keyId }, 'the events of an API key were changed; it lets nobody in'),
  )
  const uses = createKeyUses(pool, (error) =>
    logger.warn({ err: error }, 'cannot record when API keys were used; will retry'),
  )
  const timer = () => performance.now()
  const authenticator = createAuthenticator({ keys: rows, clock, timer, onUse: uses.note })
  const count = createCountRequest({ take: (...wanted) => takeRequests(ctx, ...wanted), timer })
  return {
    authenticator,
    countRequest({ requestLimits, tenantId, keyId }, correlationId) {
      const reported = (refusal: Refusal) => {
        if (refusal !== undefined)
          limitReports.refused(refusal, { tenantId, actor: actorOfApiKey(keyId), correlationId })
        return refusal
      }
      const refusal = count(requestLimits)
      return refusal instanceof Promise ? refusal.then(reported) : reported(refusal)
    },
    rows,
    forgetKey(keyId) {
      authenticator.forget(keyId)
      limitsOfKeys.forget(keyId)
    },
    close: uses.close,
  }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly keyGate: { readonly keyGate: KeyGate }
  }
}
