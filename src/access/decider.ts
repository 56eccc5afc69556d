/** The commands of an API key, and when they are refused. Pure: time and digest come with the command. */
import { Conflict, type ErrorItem, NotFound, ValidationFailed } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { assertNever } from '../core/never.ts'
import { unfitIn } from '../core/plain-text.ts'
import { ALL_SCOPES } from '../core/scopes.ts'
import { isReservedTenant, isTenantId, RESERVED_TENANT_RULE, TENANT_ID_RULE } from '../core/tenants.ts'
import type { ApiKeyEvent, ApiKeyIssued } from './events.ts'

const MAX_LABEL_LENGTH = 128
/** Fixed length and time zone, so that text order is time order. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

export type KnownApiKey = {
  readonly status: 'active' | 'revoked'
  readonly tenantId: string
  readonly environment: Environment
  readonly label: string
  readonly digest: string
  readonly scopes: readonly string[]
  readonly expiresAt: string | null
  readonly issuedAt: string
  readonly revokedAt: string | null
}
export type ApiKeyState = { readonly status: 'unknown' } | KnownApiKey

export type ApiKeyCommand =
  | {
      readonly type: 'IssueApiKey'
      readonly key: Omit<ApiKeyIssued['data'], 'issuedAt'>
      /** Every scope of this version. */
      readonly knownScopes: readonly string[]
      readonly now: string
    }
  | { readonly type: 'RevokeApiKey'; readonly now: string }

export const apiKeyDecider: Decider<ApiKeyState, ApiKeyCommand, ApiKeyEvent> = {
  initialState: { status: 'unknown' },

  decide(command, state) {
    switch (command.type) {
      case 'IssueApiKey':
        if (state.status !== 'unknown') throw new Conflict('api_key_exists', 'An API key with this id already exists.')
        requireValid(command)
        return [{ type: 'ApiKeyIssued', data: { ...command.key, issuedAt: command.now } }]
      case 'RevokeApiKey':
        if (state.status === 'unknown') throw noSuchApiKey()
        if (state.status === 'revoked') return []
        return [{ type: 'ApiKeyRevoked', data: { revokedAt: command.now } }]
      default:
        return assertNever(command)
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case 'ApiKeyIssued':
        // The first counts: a second one of this stream neither changes the key nor gives it back.
        if (state.status !== 'unknown') return state
        return { ...event.data, status: 'active', revokedAt: null }
      case 'ApiKeyRevoked':
        return state.status === 'unknown' ? state : { ...state, status: 'revoked', revokedAt: event.data.revokedAt }
      default:
        return assertNever(event)
    }
  },
}

export function noSuchApiKey(): NotFound {
  return new NotFound('api_key', 'api_key_not_found', 'No such API key.')
}

/** Reports every invalid field, not only the first. */
function requireValid({ key, knownScopes, now }: Extract<ApiKeyCommand, { readonly type: 'IssueApiKey' }>): void {
  const items: Omit<ErrorItem, 'type'>[] = []
  const refuse = (field: string, code: string, message: string) =>
    items.push({ field, code, message: `${field} ${message}` })
  if (!isTenantId(key.tenantId)) refuse('tenant', 'invalid_tenant', `must be ${TENANT_ID_RULE}.`)
  else if (isReservedTenant(key.tenantId)) refuse('tenant', 'reserved_tenant', RESERVED_TENANT_RULE)
  const unfit = unfitIn(key.label, { lineFeeds: false })
  if (unfit !== null) refuse('label', 'invalid_label', `${unfit}.`)
  else if ([...key.label].length > MAX_LABEL_LENGTH) {
    refuse('label', 'invalid_label', `must have at most ${MAX_LABEL_LENGTH} characters.`)
  }
  const known = [ALL_SCOPES, ...knownScopes]
  const unknown = key.scopes.filter((scope) => !known.includes(scope))
  if (key.scopes.length === 0 || unknown.length > 0) {
    refuse('scopes', 'invalid_scopes', `must be one or more of: ${known.join(', ')}.`)
  }
  if (key.expiresAt !== null && !INSTANT.test(key.expiresAt)) {
    refuse('expires_at', 'invalid_time', 'must be ISO 8601 UTC with milliseconds.')
  } else if (key.expiresAt !== null && key.expiresAt <= now) {
    refuse('expires_at', 'expires_in_the_past', 'must be in the future.')
  }
  if (items.length > 0) throw new ValidationFailed(items)
}
