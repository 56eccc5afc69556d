/** Issues an API key. Its token is only returned here. */

import type { Context } from '../context.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { ALL_SCOPES, grantsOf } from '../core/scopes.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { createToken, digestOf } from './token.ts'

export type ApiKeyRequest = {
  readonly tenantId: string
  readonly environment: Environment
  readonly label?: string
  /** Default: all scopes. */
  readonly scopes?: readonly string[]
  /** ISO 8601 UTC with milliseconds; default: never. */
  readonly expiresAt?: string
}

export type IssuedApiKey = {
  readonly keyId: string
  /** The bearer token. Only its digest is stored, so it cannot be shown again. */
  readonly token: string
  readonly tenantId: string
  readonly environment: Environment
  readonly label: string
  readonly scopes: readonly string[]
  readonly expiresAt: string | null
  readonly createdAt: string
}

/** @throws ValidationFailed listing every invalid field; Unavailable */
export type IssueApiKey = (
  request: ApiKeyRequest,
  context: Pick<Metadata, 'actor' | 'correlationId'>,
) => Promise<IssuedApiKey>

export function createIssueApiKey({
  log,
  newId,
  catalogue,
}: Pick<Context, 'log' | 'newId' | 'catalogue'>): IssueApiKey {
  const knownScopes = catalogue.scopes
  return async ({ tenantId, environment, label = '', scopes = [ALL_SCOPES], expiresAt = null }, context) => {
    const keyId = newId('apiKey')
    const token = createToken(environment)
    const key = {
      tenantId,
      environment,
      label,
      digest: digestOf(token),
      scopes: [...new Set(scopes)],
      grants: grantsOf(scopes, knownScopes),
      expiresAt,
      ipAllowlist: [],
      limits: [],
      issuedBy: null,
      rotatedFrom: null,
    }
    const now = log.now()
    const command = { type: 'IssueApiKey', key, knownScopes, now } as const
    await log.execute(apiKeyAggregate, keyId, command, { metadata: { ...context, tenantId } })
    return { keyId, token, tenantId, environment, label, scopes: key.scopes, expiresAt, createdAt: now }
  }
}
