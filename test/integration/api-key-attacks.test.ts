/**
 * A stolen database login of the API and API keys: what it appends without the service. A key that it makes is made by a key
 * of the same tenant that may make keys, and holds no more than that one.
 */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import type { ApiKeyEvent, ApiKeyIssued } from '../../src/access/events.ts'
import { keyLimitAggregate } from '../../src/access/limit-aggregate.ts'
import { createLimitsOfKeys } from '../../src/access/limits-of-keys.ts'
import { createToken, digestOf } from '../../src/access/token.ts'
import { newId } from '../../src/compose/new-id.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import type { KeyLimit } from '../../src/core/key-limits.ts'
import { grantsOf } from '../../src/core/scopes.ts'
import { SCOPE_RULES, SCOPES } from '../../src/declarations.ts'
import { type Decision, decideNew, decideOn, unopened } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { poolUntilEnd } from '../support/database-login.ts'
import { type KeyStage, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const REFUSED = { code: '42501', message: /may not be made or opened/ }
const FOREVER = '2999-01-01T00:00:00.000Z'

type Attack = KeyStage & { readonly api: Pool }

async function withStolenLogin(t: Test): Promise<Attack> {
  const stage = await withKeyStage(t)
  return { ...stage, api: poolUntilEnd(t, { connectionString: stage.urlAs('api'), max: 2 }) }
}

const loadedOf = ({ kernel }: Attack, keyId: string) => kernel.log.load(apiKeyAggregate, keyId)

async function decisionOf(attack: Attack, keyId: string, event: ApiKeyEvent, tenantId = 'acme'): Promise<Decision> {
  const loaded = event.type === 'ApiKeyIssued' ? unopened(apiKeyAggregate, keyId) : await loadedOf(attack, keyId)
  const context = { metadata: { tenantId, actor: 'apikey:key_thief' }, now: attack.kernel.log.now() }
  const made = decideOn(
    { ...apiKeyAggregate, decide: () => [event] },
    loaded,
    { type: 'ExpireApiKey', now: '' },
    context,
  )
  if (made === null) throw new Error('no change')
  return made
}

type Rows = Record<string, Record<string, unknown>[]>

/** As the service sends it. @param tamper changes the rows */
async function append({ api }: Attack, decisions: readonly Decision[], tamper: (rows: Rows) => void = () => undefined) {
  const [guards, events, rowsText] = encodeBatch([{ decisions }], true)
  const rows = JSON.parse(rowsText) as Rows
  tamper(rows)
  await api.query('SELECT append_commits($1, $2, $3)', [guards, events, JSON.stringify(rows)])
}

function forged(issuedBy: string | null, fields: Partial<ApiKeyIssued['data']> = {}): ApiKeyEvent {
  const scopes = fields.scopes ?? ['wallets:read']
  const terms = {
    label: '',
    scopes,
    grants: grantsOf(scopes, SCOPE_RULES),
    expiresAt: null,
    ipAllowlist: [],
    limits: [],
  }
  const of = { tenantId: 'acme', environment: 'mainnet', issuedBy, rotatedFrom: null, issuedAt: FOREVER } as const
  return { type: 'ApiKeyIssued', data: { ...terms, ...of, digest: digestOf(createToken('mainnet')), ...fields } }
}

t.test('a forged key is made by a living key of its tenant that may make keys', async (t) => {
  const attack = await withStolenLogin(t)
  const { issue, kernel } = attack
  const makers = {
    admin: await issue(),
    reader: await issue({ scopes: ['*', 'api_keys:read'] }),
    testnet: await issue({ environment: 'testnet' }),
    stranger: await issue({ tenantId: 'globex' }),
    revoked: await issue(),
    narrowed: await issue(),
  }
  const event = { type: 'RevokeApiKey', reason: 'requested', now: kernel.log.now() } as const
  const metadata = { tenantId: 'acme', actor: 'operator' }
  await kernel.log.execute(apiKeyAggregate, makers.revoked.keyId, event, { metadata })
  const take = {
    type: 'ChangeApiKey',
    change: { scopes: ['wallets:read'] },
    changedBy: 'key_x',
    knownScopes: SCOPE_RULES,
  } as const
  await kernel.log.execute(apiKeyAggregate, makers.narrowed.keyId, { ...take, now: kernel.log.now() }, { metadata })
  const before = (await attack.pool.query('SELECT FROM events')).rowCount
  const makes = async (by: string | null, fields: Partial<ApiKeyIssued['data']> = {}, tenantId?: string) =>
    append(attack, [await decisionOf(attack, newId('apiKey'), forged(by, fields), tenantId)])
  await t.rejects(makes(null), REFUSED, 'as an operator would')
  await t.rejects(makes('key_unknown'), REFUSED)
  for (const name of ['reader', 'testnet', 'stranger', 'revoked', 'narrowed'] as const)
    await t.rejects(makes(makers[name].keyId), REFUSED, name)
  await t.rejects(makes(makers.admin.keyId, { tenantId: 'globex' }), REFUSED, 'of another tenant')
  await t.rejects(makes(makers.admin.keyId, { tenantId: 'globex' }, 'globex'), REFUSED)
  await t.rejects(makes(makers.admin.keyId, {}, 'globex'), REFUSED, 'in the name of another tenant')
  await t.rejects(makes(makers.admin.keyId, { environment: 'testnet' }), REFUSED)
  t.equal((await attack.pool.query('SELECT FROM events')).rowCount, before)
  await t.resolves(makes(makers.admin.keyId), 'this is what is left: as the key itself could')
})

t.test('a forged key holds no more than its maker, as the events of that one say', async (t) => {
  const attack = await withStolenLogin(t)
  const { keyId: admin } = await attack.issue({ scopes: ['api_keys:write', 'wallets:read'], expiresAt: FOREVER })
  const narrow = { expiresAt: FOREVER, ipAllowlist: ['203.0.113.0/24'] }
  const makes = async (by: string, fields: Partial<ApiKeyIssued['data']>, tamper?: (rows: Rows) => void) => {
    const keyId = newId('apiKey')
    await append(attack, [await decisionOf(attack, keyId, forged(by, fields))], tamper)
    return keyId
  }
  await t.rejects(makes(admin, { ...narrow, scopes: ['wallets:write'] }), REFUSED)
  await t.rejects(makes(admin, { ...narrow, grants: ['wallets:read', 'recovery:export'] }), REFUSED)
  await t.rejects(makes(admin, { expiresAt: null }), REFUSED)
  await t.rejects(makes(admin, { expiresAt: '2999-01-01T00:00:00.001Z' }), REFUSED)
  const wide = { expiresAt: FOREVER, scopes: ['api_keys:write', 'wallets:read'] }
  const open = (rows: Rows) =>
    Object.assign(rows.api_keys?.[0] ?? {}, { grants: [...SCOPES], ip_allowlist: [], expires_at: null })
  const listed = await makes(admin, { ...wide, ipAllowlist: ['203.0.113.0/24'] }, open)
  for (const fields of [
    { ...narrow, scopes: ['transactions:write'] },
    { ...narrow, expiresAt: null },
    { ...narrow, ipAllowlist: [] },
    { ...narrow, ipAllowlist: ['203.0.112.0/23'] },
    { ...narrow, ipAllowlist: ['2001:db8::/32'] },
  ])
    await t.rejects(makes(listed, fields), REFUSED, `a row that says more gives nothing: ${JSON.stringify(fields)}`)
  await t.resolves(makes(listed, { ...narrow, ipAllowlist: ['203.0.113.128/25', '203.0.113.7/32'] }))
})

t.test('a forged key is about no asset that the limits of its maker leave out', async (t) => {
  const attack = await withStolenLogin(t)
  const scopes = ['api_keys:write', 'wallets:read']
  const { keyId: admin } = await attack.issue({ scopes })
  const makes = async (by: string, limits: readonly KeyLimit[]) => {
    const keyId = newId('apiKey')
    await append(attack, [await decisionOf(attack, keyId, forged(by, { scopes, limits }))])
    return keyId
  }
  const day = { amount: '5', windowSeconds: 86_400, inherited: false } as const
  const asset = { of: 'asset', symbol: 'ETH', decimals: 18, ...day } as const
  const ether = { ...asset, assetId: 'eip155:1/slip44:60', counter: 'ether' }
  const other = { ...asset, assetId: 'eip155:1/erc20:0x1', counter: 'other' }
  const dollars = { of: 'usd', ...day, counter: 'dollars' } as const
  const limited = await makes(admin, [ether])
  await t.rejects(makes(limited, []), REFUSED)
  await t.rejects(makes(limited, [{ ...ether, amount: '6' }]), REFUSED)
  await t.rejects(makes(limited, [ether, other]), REFUSED)
  await t.rejects(makes(limited, [ether, dollars]), REFUSED)
  await t.resolves(
    makes(limited, [ether, { ...ether, counter: 'own' }, { of: 'transactions', ...day, counter: 'count' }]),
  )
  await t.resolves(makes(await makes(admin, [dollars]), [dollars, other]), 'dollars are about every asset')
  // A counter that is known says nothing of what is counted on it.
  await t.rejects(makes(limited, [ether, { ...other, counter: 'ether' }]), REFUSED, 'the other asset on its counter')
  await t.rejects(makes(limited, [{ ...other, counter: 'ether' }]), REFUSED)
  for (const of of ['transactions', 'requests'] as const)
    await t.rejects(makes(limited, [{ of, ...day, counter: 'ether' }]), REFUSED, `${of} in place of amounts`)
  await t.rejects(makes(await makes(admin, [dollars]), [{ ...other, counter: 'dollars' }]), REFUSED)
})

t.test('keys of one append do not make each other', async (t) => {
  const attack = await withStolenLogin(t)
  const { keyId: admin } = await attack.issue({ scopes: ['api_keys:write', 'wallets:read'] })
  const [a, b] = [newId('apiKey'), newId('apiKey')]
  const scopes = [...SCOPES]
  const circle = [
    await decisionOf(attack, a, forged(b, { scopes })),
    await decisionOf(attack, b, forged(a, { scopes })),
  ]
  await t.rejects(append(attack, circle), REFUSED)
  const mine = await decisionOf(attack, a, forged(a, { scopes }))
  await t.rejects(append(attack, [mine]), REFUSED, 'nor itself')
  const chain = [
    await decisionOf(attack, a, forged(admin, { scopes: ['api_keys:write'] })),
    await decisionOf(attack, b, forged(a, { scopes: ['api_keys:write'] })),
  ]
  await t.rejects(append(attack, chain), REFUSED)
})

t.test('a forged change opens no key to other addresses, and no event gives one back or more', async (t) => {
  const attack = await withStolenLogin(t)
  const { issue, startApi, kernel } = attack
  const admin = await issue()
  const weak = await issue({ scopes: ['api_keys:write'] })
  const api = await startApi()
  const body = { scopes: ['wallets:read'], ip_allowlist: ['203.0.113.7'], expires_at: FOREVER, force: true }
  const { key_id: id, api_key: token } = (await api.send(admin.token, { to: 'POST /v1/api-keys', body })).data
  const terms = { label: '', scopes: ['*'], grants: ['*', ...SCOPES], expiresAt: null, limits: [] }
  const changed = (changedBy: string, ipAllowlist: string[]): ApiKeyEvent => ({
    type: 'ApiKeyChanged',
    data: { ...terms, ipAllowlist, changedBy, changedAt: kernel.log.now() },
  })
  for (const by of [weak.keyId, id, 'key_unknown'])
    await t.rejects(
      decisionOf(attack, id, changed(by, [])).then((made) => append(attack, [made])),
      REFUSED,
      by,
    )
  await append(attack, [await decisionOf(attack, id, changed(weak.keyId, ['203.0.113.7/32']))])
  const me = await api.send(token, { to: 'GET /v1/me', from: '203.0.113.7' })
  matchExactly(t, me.data, { effective_scopes: ['wallets:read'], expires_at: FOREVER }, 'whatever the event says')
  t.equal((await api.send(token, { to: 'GET /v1/me' })).code, 'address_not_allowed')

  await api.send(admin.token, { to: `DELETE /v1/api-keys/${id}` })
  const rotated = { rotatedTo: 'key_x', overlapEndsAt: '2999-01-01T00:00:00.000Z', rotatedAt: kernel.log.now() }
  await append(attack, [await decisionOf(attack, id, { type: 'ApiKeyRotated', data: rotated })])
  await append(attack, [await decisionOf(attack, id, changed(admin.keyId, []))])
  t.equal((await api.send(token, { to: 'GET /v1/me', from: '203.0.113.7' })).code, 'api_key_invalid')
})

t.test('no login raises a limit, or makes a key that spends beyond those of its maker', async (t) => {
  const attack = await withStolenLogin(t)
  const { issue, startApi, kernel } = attack
  const admin = await issue()
  const api = await startApi()
  const scopes = ['api_keys:read', 'api_keys:write', 'wallets:read']
  const asked = { scopes, limits: [{ transactions: 5, window_seconds: 3_600 }] }
  const { key_id: id, api_key: token } = (await api.send(admin.token, { to: 'POST /v1/api-keys', body: asked })).data
  const limitsOf = createLimitsOfKeys(kernel.log).of
  const limits = await limitsOf(`apikey:${id}`)
  matchExactly(t, limits, [{ counter: `${id} transactions 3600`, amount: '5' }])
  const changed = (changedBy: string, others: readonly KeyLimit[]): ApiKeyEvent => {
    const terms = { label: '', scopes, grants: scopes, expiresAt: null, ipAllowlist: [], limits: others }
    return { type: 'ApiKeyChanged', data: { ...terms, changedBy, changedAt: kernel.log.now() } }
  }
  const with_ = (fields: Partial<KeyLimit>) => limits.map((limit) => ({ ...limit, ...fields }) as KeyLimit)
  const wider = [[], with_({ amount: '6' }), with_({ counter: 'mine' }), with_({ windowSeconds: 60 })]
  const weak = await issue({ scopes: ['api_keys:write'] })
  for (const others of wider) {
    for (const by of [id, weak.keyId, 'key_unknown'])
      await t.rejects(
        decisionOf(attack, id, changed(by, others)).then((made) => append(attack, [made])),
        REFUSED,
        `changed by ${by}`,
      )
    const made = await decisionOf(attack, newId('apiKey'), forged(id, { scopes: ['wallets:read'], limits: others }))
    await t.rejects(append(attack, [made]), REFUSED, 'a key that it makes')
  }
  // A row that says more gives nothing: limits are read from events.
  const narrower = await decisionOf(attack, id, changed(id, with_({ amount: '4' })))
  await append(attack, [narrower], (rows) => Object.assign(rows.api_keys?.[0] ?? {}, { limits: [] }))
  matchExactly(t, await createLimitsOfKeys(kernel.log).of(`apikey:${id}`), [{ amount: '4' }])
  t.equal((await api.send(token, { to: 'GET /v1/me' })).status, 200)

  const raised = await decisionOf(attack, id, changed(admin.keyId, with_({ amount: '9' })))
  const told = { environment: 'mainnet', limit: limits[0] as KeyLimit, left: '0', needed: '1' } as const
  const times = { availableAt: null, reachedAt: kernel.log.now() }
  const metadata = { tenantId: 'acme', actor: `apikey:${id}` }
  const command = { type: 'ReportLimit', report: { ...told, ...times } } as const
  const report = decideNew(keyLimitAggregate, id, command, { metadata, now: kernel.log.now() })
  for (const role of DATABASE_ROLES.filter((name) => name !== 'api' && name !== 'operator')) {
    const login = poolUntilEnd(t, { connectionString: attack.urlAs(role), max: 1 })
    const refused = { code: '42501' }
    await t.rejects(append({ ...attack, api: login }, [raised]), refused, `${role} raises`)
    await t.rejects(append({ ...attack, api: login }, [report]), refused, `${role} reports`)
    await t.rejects(login.query("UPDATE api_keys SET limits = '[]'"), refused, `${role} writes the row`)
  }
  await t.rejects(attack.api.query("UPDATE api_keys SET limits = '[]'"), { code: '42501' })
  await t.resolves(append(attack, [raised]), 'this is what is left: as the key of an operator could')
})

t.test('other logins make no key, and change none', async (t) => {
  const attack = await withStolenLogin(t)
  const { keyId: admin } = await attack.issue()
  const made = await decisionOf(attack, newId('apiKey'), forged(admin))
  for (const role of ['dispatcher', 'signer', 'submitter', 'follower', 'sender'] as const) {
    const api = poolUntilEnd(t, { connectionString: attack.urlAs(role), max: 1 })
    await t.rejects(append({ ...attack, api }, [made]), { code: '42501' }, role)
  }
  // The dispatcher records that a key has expired: whether it works follows from its terms.
  const dispatcher = poolUntilEnd(t, { connectionString: attack.urlAs('dispatcher'), max: 1 })
  const { keyId, token } = await attack.issue()
  const expired = await decisionOf(attack, keyId, {
    type: 'ApiKeyExpired',
    data: { expiredAt: attack.kernel.log.now() },
  })
  await append({ ...attack, api: dispatcher }, [expired])
  const api = await attack.startApi()
  t.equal((await api.send(token, { to: 'GET /v1/me' })).status, 200)
})
