/**
 * The commands of an API key, and when they are refused. Pure: time, digest and checked ranges come with the command.
 *
 * Invariant: no event gives a key a scope that it did not hold, or a later end; and a key that was revoked stays revoked.
 */
import { canonicalJson } from '../core/canonical-json.ts'
import { Conflict, type ErrorItem, NotFound, ValidationFailed } from '../core/errors.ts'
import { unfitLimits } from '../core/key-limits.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import { unfitIn } from '../core/plain-text.ts'
import { ALL_SCOPES, grantsOf, type ScopeRules } from '../core/scopes.ts'
import { isReservedTenant, isTenantId, RESERVED_TENANT_RULE, TENANT_ID_RULE } from '../core/tenants.ts'
import type { ApiKeyChanged, ApiKeyEvent, ApiKeyIssued, KeyTerms, RevocationReason } from './events.ts'

const MAX_LABEL_LENGTH = 128
/** Fixed length and time zone, so that text order is time order. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

export const API_KEY_STATUSES = ['active', 'expired', 'revoked'] as const
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number]

export type KnownApiKey = ApiKeyIssued['data'] & {
  /** Whether it works follows from `expiresAt`: `expired` is recorded later. */
  readonly status: ApiKeyStatus
  /** The key that replaces it; `null` if none does. */
  readonly rotatedTo: string | null
  readonly expiredAt: string | null
  readonly revokedAt: string | null
  readonly revokedReason: RevocationReason | null
  readonly updatedAt: string
}
export type ApiKeyState = { readonly status: 'unknown' } | KnownApiKey

/** What its owner chooses; `grants` follow from it. */
export type ChosenTerms = Omit<KeyTerms, 'grants'>

type Known = {
  readonly knownScopes: ScopeRules
  readonly now: string
}

export type ApiKeyCommand =
  | ({
      readonly type: 'IssueApiKey'
      readonly key: Omit<ApiKeyIssued['data'], 'issuedAt'>
    } & Known)
  | ({
      readonly type: 'ChangeApiKey'
      readonly change: Partial<ChosenTerms>
      /** The key whose request it is. */
      readonly changedBy: string
      readonly policy?: ApiKeyChanged['data']['policy']
    } & Known)
  | {
      readonly type: 'RotateApiKey'
      readonly rotatedTo: string
      readonly overlapEndsAt: string
      readonly now: string
    }
  | { readonly type: 'ExpireApiKey'; readonly now: string }
  | { readonly type: 'RevokeApiKey'; readonly reason: RevocationReason; readonly now: string }

export const apiKeyDecider: Decider<ApiKeyState, ApiKeyCommand, ApiKeyEvent> = {
  initialState: { status: 'unknown' },

  /**
   * @throws NotFound `api_key_not_found`; Conflict `api_key_exists`, `api_key_ended`, `api_key_rotated`; ValidationFailed
   */
  decide(command, state) {
    if (command.type === 'IssueApiKey') {
      if (state.status !== 'unknown') throw new Conflict('api_key_exists', 'An API key with this id already exists.')
      const { key, knownScopes, now } = command
      const items = [
        ...unfitTenant(key.tenantId),
        ...unfitTerms(key, knownScopes, now),
        ...unfitBudget(key, knownScopes),
      ]
      if (items.length > 0) throw new ValidationFailed(items)
      return [{ type: 'ApiKeyIssued', data: { ...key, issuedAt: now } }]
    }
    if (state.status === 'unknown') throw noSuchApiKey()
    return decideKnown(command, state)
  },

  evolve(state, event) {
    // The first counts: a second one of this stream neither changes the key nor gives it back.
    if (event.type !== 'ApiKeyIssued') return state.status === 'unknown' ? state : evolveKnown(state, event)
    if (state.status !== 'unknown') return state
    return {
      ...event.data,
      status: 'active',
      rotatedTo: null,
      expiredAt: null,
      revokedAt: null,
      revokedReason: null,
      updatedAt: event.data.issuedAt,
    }
  },
}

export function noSuchApiKey(): NotFound {
  return new NotFound('api_key', 'api_key_not_found', 'No such API key.')
}

function decideKnown(
  command: Exclude<ApiKeyCommand, { type: 'IssueApiKey' }>,
  key: KnownApiKey,
): readonly ApiKeyEvent[] {
  switch (command.type) {
    case 'ChangeApiKey':
      requireLive(key, command.now)
      return decideChange(command, key)
    case 'RotateApiKey': {
      const { rotatedTo, overlapEndsAt, now } = command
      requireLive(key, now)
      if (key.rotatedTo !== null) throw alreadyRotated(key.rotatedTo)
      return [{ type: 'ApiKeyRotated', data: { rotatedTo, overlapEndsAt, rotatedAt: now } }]
    }
    case 'ExpireApiKey':
      return key.status === 'active' && isPast(key, command.now)
        ? [{ type: 'ApiKeyExpired', data: { expiredAt: command.now } }]
        : []
    case 'RevokeApiKey':
      return key.status === 'revoked'
        ? []
        : [{ type: 'ApiKeyRevoked', data: { reason: command.reason, revokedAt: command.now } }]
    default:
      return assertNever(command)
  }
}

function decideChange(
  { change, changedBy, policy, knownScopes, now }: Extract<ApiKeyCommand, { type: 'ChangeApiKey' }>,
  key: KnownApiKey,
): readonly ApiKeyEvent[] {
  const before = termsOf(key)
  const chosen = { ...before, ...change }
  const isSameScopes = canonicalJson([...chosen.scopes].sort()) === canonicalJson([...before.scopes].sort())
  // `*` asked for again stands for what it stood for.
  const grants = isSameScopes ? before.grants : grantsOf(chosen.scopes, knownScopes)
  const after = { ...chosen, grants }
  if (canonicalJson(after) === canonicalJson(before)) return []
  const items = [...unfitTerms(chosen, knownScopes, now), ...widened(before, after), ...unfitBudget(after, knownScopes)]
  if (items.length > 0) throw new ValidationFailed(items)
  return [
    {
      type: 'ApiKeyChanged',
      data: { ...after, changedBy, ...(policy === undefined ? {} : { policy }), changedAt: now },
    },
  ]
}

function evolveKnown(before: KnownApiKey, event: Exclude<ApiKeyEvent, ApiKeyIssued>): KnownApiKey {
  switch (event.type) {
    case 'ApiKeyChanged': {
      const { changedAt: updatedAt, changedBy: _, policy: __, ...terms } = event.data
      return { ...before, ...terms, ...narrowed(before, event.data), updatedAt }
    }
    case 'ApiKeyRotated': {
      const { rotatedTo, overlapEndsAt, rotatedAt: updatedAt } = event.data
      return { ...before, rotatedTo, expiresAt: earlier(before.expiresAt, overlapEndsAt), updatedAt }
    }
    case 'ApiKeyExpired': {
      const { expiredAt } = event.data
      return before.status === 'active' ? { ...before, status: 'expired', expiredAt, updatedAt: expiredAt } : before
    }
    case 'ApiKeyRevoked': {
      const { reason: revokedReason, revokedAt } = event.data
      return before.status === 'revoked'
        ? before
        : { ...before, status: 'revoked', revokedAt, revokedReason, updatedAt: revokedAt }
    }
    default:
      return assertNever(event)
  }
}

function termsOf({ label, scopes, grants, expiresAt, ipAllowlist, limits }: KeyTerms): KeyTerms {
  return { label, scopes, grants, expiresAt, ipAllowlist, limits }
}

/** Whatever an event says: a process that may append it could say anything. */
function narrowed(before: KnownApiKey, { grants, expiresAt }: ApiKeyChanged['data']) {
  const held = new Set(before.grants)
  return { grants: grants.filter((scope) => held.has(scope)), expiresAt: earlier(before.expiresAt, expiresAt) }
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}

function isPast({ expiresAt }: Pick<KeyTerms, 'expiresAt'>, now: string): boolean {
  return expiresAt !== null && expiresAt <= now
}

function requireLive(key: KnownApiKey, now: string): void {
  if (key.status === 'active' && !isPast(key, now)) return
  const what = key.status === 'revoked' ? 'was revoked' : 'has expired'
  throw new Conflict('api_key_ended', `The API key ${what}: create another one.`)
}

function alreadyRotated(rotatedTo: string): Conflict {
  const message = `The API key was rotated already: ${rotatedTo} replaces it. Rotate that one instead.`
  return new Conflict('api_key_rotated', message, { rotated_to: rotatedTo })
}

type Items = readonly Omit<ErrorItem, 'type'>[]

function item(field: string, code: string, message: string): Omit<ErrorItem, 'type'> {
  return { field, code, message: `${field} ${message}` }
}

function unfitTenant(tenantId: string): Items {
  if (!isTenantId(tenantId)) return [item('tenant', 'invalid_tenant', `must be ${TENANT_ID_RULE}.`)]
  return isReservedTenant(tenantId) ? [item('tenant', 'reserved_tenant', RESERVED_TENANT_RULE)] : []
}

/** Every invalid field, not only the first. */
function unfitTerms({ label, scopes, expiresAt }: ChosenTerms, knownScopes: ScopeRules, now: string): Items {
  const items: Omit<ErrorItem, 'type'>[] = []
  const unfit = unfitIn(label, { lineFeeds: false })
  if (unfit !== null) items.push(item('label', 'invalid_label', `${unfit}.`))
  else if ([...label].length > MAX_LABEL_LENGTH) {
    items.push(item('label', 'invalid_label', `must have at most ${MAX_LABEL_LENGTH} characters.`))
  }
  const known = [ALL_SCOPES, ...Object.keys(knownScopes)]
  if (scopes.length === 0 || scopes.some((scope) => !known.includes(scope))) {
    items.push(item('scopes', 'invalid_scopes', `must be one or more of: ${known.join(', ')}.`))
  }
  if (expiresAt !== null && !INSTANT.test(expiresAt)) {
    items.push(item('expires_at', 'invalid_time', 'must be ISO 8601 UTC with milliseconds.'))
  } else if (expiresAt !== null && expiresAt <= now) {
    items.push(item('expires_at', 'expires_in_the_past', `must be later than now, ${now}.`))
  }
  return items
}

function unfitBudget({ limits, grants }: Pick<KeyTerms, 'limits' | 'grants'>, known: ScopeRules): Items {
  const unfit = unfitLimits(limits, grants, known)
  return unfit === null ? [] : [item('limits', ...unfit)]
}

function widened(before: KeyTerms, after: KeyTerms): Items {
  const more = after.grants.filter((scope) => !before.grants.includes(scope))
  return [
    ...(more.length === 0
      ? []
      : [item('scopes', 'scopes_widened', `can only be taken away, and the key does not hold ${more.join(', ')}.`)]),
    ...(earlier(before.expiresAt, after.expiresAt) === after.expiresAt
      ? []
      : [item('expires_at', 'expiry_widened', 'can only become earlier: create another key.')]),
  ]
}
