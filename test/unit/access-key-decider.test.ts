/** What an API key may be, and what happens to it: its decider and its events. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import { type ApiKeyCommand, apiKeyDecider } from '../../src/access/decider.ts'
import type { ApiKeyEvent, ApiKeyIssued } from '../../src/access/events.ts'
import { digestOf } from '../../src/access/token.ts'
import { grantsBefore, grantsOf } from '../../src/core/scopes.ts'
import { SCOPE_RULES, SCOPES } from '../../src/declarations.ts'
import { upcast } from '../../src/event-log/aggregate.ts'
import { givenOf } from '../support/given.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const key: Omit<ApiKeyIssued['data'], 'issuedAt'> = {
  tenantId: 'acme',
  environment: 'mainnet',
  label: 'billing 💶',
  digest: digestOf('bsk'),
  scopes: ['*'],
  grants: grantsOf(['*'], SCOPE_RULES),
  expiresAt: null,
  ipAllowlist: [],
  limits: [],
  issuedBy: null,
  rotatedFrom: null,
}
/** The key with these fields, and the scopes that they ask for. */
const keyWith = (fields: Partial<typeof key>) => {
  const asked = { ...key, ...fields }
  return { ...asked, grants: grantsOf(asked.scopes, SCOPE_RULES) }
}
/** The event of such a key. */
const issuedAs = (fields: Partial<typeof key> = {}): ApiKeyEvent => ({
  type: 'ApiKeyIssued',
  data: { ...keyWith(fields), issuedAt: NOW },
})
const issue = (fields: Partial<typeof key> = {}): ApiKeyCommand => ({
  type: 'IssueApiKey',
  key: keyWith(fields),
  knownScopes: SCOPE_RULES,
  now: NOW,
})
const issued = issuedAs()
const revoke: ApiKeyCommand = { type: 'RevokeApiKey', reason: 'requested', now: NOW }
const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: { reason: 'requested', revokedAt: NOW } }

const given = givenOf(apiKeyDecider)

t.test('a key is issued once, revoked once, and revoking it again changes nothing', async (t) => {
  given().when(issue()).expect(t, issued)
  given(issued).when(issue()).fails(t, 'api_key_exists')
  given(issued).when(revoke).expect(t, revoked)
  given(issued, revoked).when(revoke).expect(t)
  given().when(revoke).fails(t, 'api_key_not_found')
})

t.test('every invalid field of a key is reported in one answer', async (t) => {
  const fields = { tenantId: 'Acme', label: 'a'.repeat(129), scopes: ['wallets:read', 'wallets:raed'], expiresAt: NOW }
  given()
    .when(issue(fields))
    .fails(
      t,
      { field: 'tenant', code: 'invalid_tenant' },
      { field: 'label', code: 'invalid_label' },
      { field: 'scopes', code: 'invalid_scopes' },
      { field: 'expires_at', code: 'expires_in_the_past' },
    )
})

t.test('no key is issued to a tenant of the service itself, and one issued earlier stays readable', async (t) => {
  for (const tenantId of ['system', 'sandbox']) {
    const message = /^tenant must not be system or sandbox: .*another name\.$/
    given().when(issue({ tenantId })).fails(t, { field: 'tenant', code: 'reserved_tenant', message })
    given(issuedAs({ tenantId })).when(revoke).expect(t, revoked)
  }
  for (const tenantId of ['system-a', 'sandboxes']) given().when(issue({ tenantId })).expect(t, issuedAs({ tenantId }))
})

t.test('names, labels, scopes and times are validated', async (t) => {
  const good: Partial<typeof key>[] = [
    { tenantId: 'a' },
    { tenantId: '0-_'.padEnd(63, 'x') },
    { label: '' },
    { label: '💶'.repeat(128) },
    { scopes: ['wallets:read', 'transactions:write'] },
    { expiresAt: '2026-11-21T12:00:00.001Z' },
  ]
  const bad: [fields: Partial<typeof key>, code: string][] = [
    [{ tenantId: '' }, 'invalid_tenant'],
    [{ tenantId: '-a' }, 'invalid_tenant'],
    [{ tenantId: 'a b' }, 'invalid_tenant'],
    [{ tenantId: 'a/b' }, 'invalid_tenant'],
    [{ tenantId: 'x'.repeat(64) }, 'invalid_tenant'],
    [{ label: 'a\nb' }, 'invalid_label'],
    [{ label: '\u0000' }, 'invalid_label'],
    [{ label: '\ud800' }, 'invalid_label'],
    [{ scopes: [] }, 'invalid_scopes'],
    [{ scopes: [''] }, 'invalid_scopes'],
    [{ scopes: ['wallets:*'] }, 'invalid_scopes'],
    [{ expiresAt: '2027-01-01' }, 'invalid_time'],
    [{ expiresAt: '2026-11-21T11:59:59.999Z' }, 'expires_in_the_past'],
  ]
  for (const fields of good) given().when(issue(fields)).expect(t, issuedAs(fields))
  for (const [fields, code] of bad) given().when(issue(fields)).fails(t, code)
})

t.test('every version of every event that was ever written is still read', async (t) => {
  const read = (name: string) => {
    const golden = JSON.parse(readFileSync(new URL(`../golden/events/${name}.json`, import.meta.url), 'utf8'))
    return upcast<ApiKeyEvent>(apiKeyAggregate.schemas, golden.type, golden.schema_version, golden.data)
  }
  t.strictSame(Object.keys(apiKeyAggregate.schemas), [
    'ApiKeyIssued',
    'ApiKeyChanged',
    'ApiKeyRotated',
    'ApiKeyExpired',
    'ApiKeyRevoked',
  ])
  const before = apiKeyAggregate.evolve(apiKeyAggregate.initialState, read('ApiKeyIssued.v1'))
  const after = apiKeyAggregate.evolve(before, read('ApiKeyRevoked.v1'))
  const context = { id: 'key_1', tenantId: 'acme', version: 2, recordedAt: NOW }
  t.strictSame(apiKeyAggregate.project(before, after, context), {
    rows: [
      {
        table: 'api_keys',
        row: {
          key_id: 'key_1',
          tenant_id: 'acme',
          environment: 'mainnet',
          label: 'billing',
          digest: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
          scopes: ['wallets:read', 'transactions:write'],
          grants: ['wallets:read', 'transactions:write'],
          ip_allowlist: [],
          limits: [],
          status: 'revoked',
          expires_at: '2027-01-01T00:00:00.000Z',
          expired_at: null,
          revoked_at: '2026-11-22T12:00:00.000Z',
          revoked_reason: 'requested',
          issued_by: null,
          rotated_from: null,
          rotated_to: null,
          created_at: '2026-11-21T12:00:00.000Z',
          updated_at: '2026-11-22T12:00:00.000Z',
          version: 2,
        },
      },
    ],
    holds: [],
  })
})

t.test('a key keeps what `*` stood for when it was issued, and what must be named is in no new `*`', async (t) => {
  const byName = [
    ...['api_keys:read', 'api_keys:write', 'policies:publish', 'policies:read', 'policies:write'],
    ...['recovery:export', 'recovery:read', 'recovery:write', 'signatures:read', 'signatures:write', 'webhooks:write'],
  ]
  const before = grantsBefore(['*', 'recovery:export'])
  t.strictSame(
    SCOPES.filter((scope) => !before.includes(scope)),
    ['api_keys:read', 'api_keys:write', 'policies:read', 'policies:write', 'policies:publish'],
    'a key from before holds every scope that there was',
  )
  t.notOk(grantsBefore(['*']).includes('recovery:export'))
  const now = grantsOf(['*'], SCOPE_RULES)
  t.strictSame(SCOPES.filter((scope) => !now.includes(scope)).toSorted(), byName)
  t.strictSame(grantsOf(['*', ...byName], SCOPE_RULES).length, SCOPES.length + 1, 'with their names it holds all')
  t.strictSame(
    grantsOf(['*'], { ...SCOPE_RULES, 'later:write': {} }).at(-1),
    'later:write',
    'a later key holds later scopes',
  )
  matchExactly(t, given(issued).state, { grants: now }, 'and this one what it got')
})

t.test('no event gives a key a scope that it did not hold, a later end, or its life back', async (t) => {
  const narrow = { scopes: ['wallets:read'], expiresAt: '2026-12-01T00:00:00.000Z' }
  const terms = {
    label: '',
    scopes: ['*'],
    grants: ['*', 'wallets:read'],
    expiresAt: null,
    ipAllowlist: [],
    limits: [],
  }
  const changed: ApiKeyEvent = { type: 'ApiKeyChanged', data: { ...terms, changedBy: 'key_x', changedAt: NOW } }
  const rotated: ApiKeyEvent = {
    type: 'ApiKeyRotated',
    data: { rotatedTo: 'key_3', overlapEndsAt: '2027-01-01T00:00:00.000Z', rotatedAt: NOW },
  }
  for (const forged of [changed, rotated])
    matchExactly(t, given(issuedAs(narrow), forged).state, {
      grants: ['wallets:read'],
      expiresAt: narrow.expiresAt,
      status: 'active',
    })
  t.strictSame(given(issuedAs(narrow), changed).state.status, 'active')
  for (const later of [changed, rotated, issued, revoked, { type: 'ApiKeyExpired', data: { expiredAt: NOW } } as const])
    t.match(given(issuedAs(narrow), revoked, later).state, { status: 'revoked', revokedAt: NOW }, later.type)
})

t.test('scopes and expiry of a key can only become less, and a change that changes nothing is no event', async (t) => {
  const old = issuedAs({ scopes: ['*'], expiresAt: '2026-12-01T00:00:00.000Z' })
  const to = (change: object, now = NOW): ApiKeyCommand => ({
    type: 'ChangeApiKey',
    change,
    changedBy: 'key_x',
    knownScopes: { ...SCOPE_RULES, 'later:write': {} },
    now,
  })
  for (const nothing of [{}, { label: key.label }, { scopes: ['*'] }]) given(old).when(to(nothing)).expect(t)
  const { label, ipAllowlist, limits } = key
  const end = '2026-12-01T00:00:00.000Z'
  const less = { scopes: ['wallets:read'], grants: ['wallets:read'], expiresAt: end, label, ipAllowlist, limits }
  given(old)
    .when(to({ scopes: ['wallets:read'] }))
    .expect(t, { type: 'ApiKeyChanged', data: { ...less, changedBy: 'key_x', changedAt: NOW } })
  for (const [change, ...codes] of [
    [{ scopes: ['*', 'api_keys:write'] }, 'scopes_widened'],
    [{ scopes: ['wallets:read', 'later:write'] }, 'scopes_widened'],
    [{ scopes: ['wallets:raed'] }, 'invalid_scopes', 'scopes_widened'], // no scope has this name, so the key lacks it
    [{ scopes: [] }, 'invalid_scopes'],
    [{ expiresAt: null }, 'expiry_widened'],
    [{ expiresAt: '2026-12-01T00:00:00.001Z' }, 'expiry_widened'],
    [{ expiresAt: NOW }, 'expires_in_the_past'],
    [{ label: 'a\nb' }, 'invalid_label'],
  ] as const)
    given(old)
      .when(to(change))
      .fails(t, ...codes)
  const { scopes, grants } = key
  const sooner = { scopes, grants, expiresAt: '2026-11-30T00:00:00.000Z', label, ipAllowlist, limits }
  given(issued) // one that never expires can get an end
    .when(to({ expiresAt: sooner.expiresAt }))
    .expect(t, { type: 'ApiKeyChanged', data: { ...sooner, changedBy: 'key_x', changedAt: NOW } })
  given(old)
    .when(to({ label: 'x' }, '2026-12-01T00:00:00.000Z'))
    .fails(t, 'api_key_ended')
  given(issued, revoked)
    .when(to({ label: 'x' }))
    .fails(t, 'api_key_ended')
})

t.test('a key is rotated once, and expires once, when it is over', async (t) => {
  const rotate: ApiKeyCommand = {
    type: 'RotateApiKey',
    rotatedTo: 'key_2',
    overlapEndsAt: '2026-11-22T12:00:00.000Z',
    now: NOW,
  }
  const rotated: ApiKeyEvent = {
    type: 'ApiKeyRotated',
    data: { rotatedTo: 'key_2', overlapEndsAt: '2026-11-22T12:00:00.000Z', rotatedAt: NOW },
  }
  given(issued).when(rotate).expect(t, rotated)
  given(issued, rotated)
    .when({ ...rotate, rotatedTo: 'key_3' })
    .fails(t, 'api_key_rotated')
  given(issued, revoked).when(rotate).fails(t, 'api_key_ended')
  const expire = (now: string): ApiKeyCommand => ({ type: 'ExpireApiKey', now })
  const expired: ApiKeyEvent = { type: 'ApiKeyExpired', data: { expiredAt: '2026-11-22T12:00:00.000Z' } }
  given(issued, rotated).when(expire(NOW)).expect(t)
  given(issued, rotated).when(expire('2026-11-22T12:00:00.000Z')).expect(t, expired)
  given(issued, rotated, expired).when(expire('2026-11-23T12:00:00.000Z')).expect(t)
  given(issued).when(expire('2999-01-01T00:00:00.000Z')).expect(t)
  given(issued, rotated, expired).when(revoke).expect(t, revoked)
})
