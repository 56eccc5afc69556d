/** API keys on a real log: issued, used, listed, revoked, and shown to an operator. */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t, { type Test } from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import { createApiKeyRows } from '../../src/access/api-key-rows.ts'
import { createAuthenticator } from '../../src/access/authenticate.ts'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { type KeysContext, keysProgram } from '../../src/access/keys-program.ts'
import { revokeApiKey } from '../../src/access/revoke-api-key.ts'
import { createToken, digestOf } from '../../src/access/token.ts'
import { setAsideAggregate } from '../../src/audit/set-aside/aggregate.ts'
import { judgeEvent } from '../../src/audit/set-aside/judge-event.ts'
import { ALL_AGGREGATES, LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { grantsOf } from '../../src/core/scopes.ts'
import { CATALOGUE, SCOPE_RULES } from '../../src/declarations.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { insertBad } from '../support/bad-events.ts'
import { runProgramLine } from '../support/cli.ts'
import { forge } from '../support/forge.ts'
import { withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

async function withAccess(t: Test) {
  const { log, pool } = await withLog(t)
  const broken: string[] = []
  const keys = createApiKeyRows(pool, (keyId, problem) => broken.push(`${keyId}: ${problem}`))
  const issueApiKey = createIssueApiKey({ log, newId: () => `key_${randomUUID()}`, catalogue: CATALOGUE })
  const revoke: KeysContext['revokeApiKey'] = (...of) => revokeApiKey({ log }, ...of)
  const authenticator = createAuthenticator({ keys, clock: Date.now, timer: performance.now.bind(performance) })
  const program = keysProgram((task) => task({ issueApiKey, revokeApiKey: revoke, keys, clock: Date.now }), SCOPE_RULES)
  /** Runs the command like an operator; returns its exit code and output. */
  const operate = (...args: string[]) => runProgramLine(program, args)
  return { log, pool, keys, broken, issueApiKey, revoke, authenticator, operate }
}

t.test('the command refuses a key for a tenant of the service itself, and records nothing', async (t) => {
  const { pool, operate } = await withAccess(t)
  for (const tenant of ['system', 'sandbox'])
    t.match(await operate('issue', '--tenant', tenant, '--environment', 'mainnet'), {
      code: 1,
      out: '',
      err: /^keys: tenant must not be system or sandbox: [^\n]*\n$/,
    })
  t.equal((await pool.query('SELECT FROM events')).rowCount, 0)
})

t.test('a row that differs from the log lets no token in, and gives a key nothing that was not issued', async (t) => {
  const { log, pool, keys, broken, issueApiKey, revoke } = await withAccess(t)
  const authenticator = () => createAuthenticator({ keys, clock: Date.now, timer: performance.now.bind(performance) })
  const context = { actor: 'operator' }
  const victim = await issueApiKey({ tenantId: 'acme', environment: 'mainnet' }, context)
  const narrow = await issueApiKey({ tenantId: 'globex', environment: 'testnet', scopes: ['wallets:read'] }, context)
  const revoked = await issueApiKey({ tenantId: 'globex', environment: 'testnet' }, context)
  await revoke(revoked.keyId, context)
  const foreign = createToken('mainnet')
  const change = (what: string, { keyId }: { keyId: string }, ...values: unknown[]) =>
    pool.query(`UPDATE api_keys SET ${what} WHERE key_id = $1`, [keyId, ...values])
  await change('digest = $2', victim, digestOf(foreign))
  t.equal(await authenticator().verify(foreign), null, 'a digest that was written into the row lets nobody in')
  const { differences } = await compareLive(pool, LOG_CONTENTS)
  matchExactly(t, differences, [{ table: 'api_keys', live: { digest: digestOf(foreign) } }], 'replay --diff reports it')
  await change('digest = $2', victim, digestOf(victim.token))
  t.match(await authenticator().verify(victim.token), { tenantId: 'acme' }, 'the key itself works again')
  await change("tenant_id = 'acme', environment = 'mainnet', scopes = '{*}', grants = '{*}'", narrow)
  matchExactly(t, await authenticator().verify(narrow.token), {
    tenantId: 'globex',
    environment: 'testnet',
    scopes: new Set(['wallets:read']),
  })
  await change('revoked_at = NULL', revoked)
  t.equal(await authenticator().verify(revoked.token), null, 'a revoked key stays revoked')
  await pool.query(
    `INSERT INTO api_keys SELECT (jsonb_populate_record(k, jsonb_build_object('key_id', 'key_x', 'digest', $2::text))).*
       FROM api_keys k WHERE key_id = $1`,
    [victim.keyId, digestOf(foreign)],
  )
  t.equal(await authenticator().verify(foreign), null, 'a row without events lets nobody in')
  const metadata = { tenantId: 'globex', actor: 'operator' }
  const { state } = await log.load(apiKeyAggregate, revoked.keyId)
  if (state.status === 'unknown') throw new Error('it was issued')
  const { status: _, revokedAt: __, ...issued } = state
  await forge(log, apiKeyAggregate, revoked.keyId, [{ type: 'ApiKeyIssued', data: issued }], { metadata })
  t.equal(await authenticator().verify(revoked.token), null, 'a key that is issued again stays revoked')
  t.strictSame(broken, [])
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  await pool.query('UPDATE events SET data = data::jsonb || \'{"tenantId": "evil"}\' WHERE stream_id = $1', [
    `apikey-${narrow.keyId}`,
  ])
  await pool.query('ALTER TABLE events ENABLE TRIGGER USER')
  t.equal(await authenticator().verify(narrow.token), null, 'a key whose event was edited lets nobody in')
  matchExactly(t, broken, [new RegExp(narrow.keyId)], 'and it is reported')
})

t.test('a key whose event was set aside lets in again, and can be revoked', async (t) => {
  const { log, pool, keys, broken, issueApiKey, revoke } = await withAccess(t)
  const { keyId, token } = await issueApiKey({ tenantId: 'acme', environment: 'mainnet' }, { actor: 'operator' })
  const name = {
    streamId: `apikey-${keyId}`,
    streamVersion: await insertBad(pool, `apikey-${keyId}`, { type: 'ApiKeyRevoked', schemaVersion: 99 }),
  }
  t.equal(await keys.byDigest(digestOf(token)), undefined)
  matchExactly(t, broken, [new RegExp(`^${keyId}: .*cannot be read`)])
  const { hash, problem } = await judgeEvent(pool, ALL_AGGREGATES, name)
  const listed = { ...name, hash, problem, reason: 'incident', by: 'operator', setAsideAt: log.now() }
  const metadata = { tenantId: 'system', actor: 'operator' }
  await log.execute(setAsideAggregate, 'main', { type: 'SetAside', ...listed }, { metadata })
  t.match(await keys.byDigest(digestOf(token)), { keyId, revokedAt: null })
  await revoke(keyId, { actor: 'operator' })
  t.match(await keys.byDigest(digestOf(token)), { keyId, revokedAt: Date })
})

t.test('a key works from its issue to its revocation, and cannot be derived from what is stored', async (t) => {
  const { log, pool, issueApiKey, revoke, authenticator } = await withAccess(t)
  const issued = await issueApiKey({ tenantId: 'acme', environment: 'testnet' }, { actor: 'operator' })
  matchExactly(t, await authenticator.verify(issued.token), {
    tenantId: 'acme',
    keyId: issued.keyId,
    environment: 'testnet',
    scopes: new Set(grantsOf(['*'], SCOPE_RULES)),
  })
  t.equal(await authenticator.verify(issued.token.replace(/.$/, (last) => (last === '0' ? '1' : '0'))), null)

  const secret = issued.token.split('_')[2] ?? ''
  for (const table of ['events', 'api_keys']) {
    const { rows } = await pool.query(`SELECT row_to_json(x)::text AS text FROM ${table} x`)
    t.ok(rows.length > 0)
    for (const { text } of rows) {
      t.ok(text.includes(digestOf(issued.token)))
      t.notOk(text.includes(secret))
    }
  }

  await t.rejects(
    revoke(issued.keyId, { actor: 'apikey:key_2', owner: { tenantId: 'other', environment: 'testnet' } }),
    { code: 'api_key_not_found' },
  )
  const revoked = await revoke(issued.keyId, { actor: 'operator' })
  authenticator.forget(issued.keyId)
  t.equal(await authenticator.verify(issued.token), null)
  t.strictSame(await revoke(issued.keyId, { actor: 'operator' }), revoked, 'the first revocation is kept')
  const events = await log.readStream(apiKeyAggregate, issued.keyId)
  t.strictSame(
    events.map(({ type, metadata }) => [type, metadata.tenantId, metadata.actor]),
    [
      ['ApiKeyIssued', 'acme', 'operator'],
      ['ApiKeyRevoked', 'acme', 'operator'],
    ],
  )
})

t.test('a refused key is not recorded', async (t) => {
  const { pool, issueApiKey } = await withAccess(t)
  const request = { tenantId: 'acme', environment: 'mainnet', scopes: ['all'] } as const
  await t.rejects(issueApiKey(request, { actor: 'operator' }), { code: 'validation_failed' })
  t.strictSame((await pool.query('SELECT FROM events')).rows, [])
})

t.test('an operator issues, lists and revokes keys, in words and in JSON', async (t) => {
  const { authenticator, operate } = await withAccess(t)
  t.strictSame(await operate('list'), { code: 0, out: 'no keys\n', err: '' })

  const issued = await operate(
    'issue',
    '--tenant',
    'acme',
    '--environment',
    'mainnet',
    '--label',
    'shop',
    '--scopes',
    'wallets:read,assets:read',
  )
  const [, keyId = '', token = ''] = /^key id {3}(\S+)\napi key {2}(\S+)\n/.exec(issued.out) ?? []
  t.match(issued, { code: 0, err: /^$/, out: /cannot be shown again/ })
  t.match(await authenticator.verify(token), { keyId, tenantId: 'acme' })

  const json = await operate(
    'issue',
    '--tenant',
    'beta',
    '--environment',
    'testnet',
    '--expires',
    '2999-01-01',
    '--json',
  )
  const second = JSON.parse(json.out)
  matchExactly(t, second, {
    tenant_id: 'beta',
    environment: 'testnet',
    label: '',
    scopes: ['*'],
    expires_at: '2999-01-01T00:00:00.000Z',
  })
  t.match(await authenticator.verify(second.api_key), { keyId: second.key_id })

  t.strictSame(await operate('revoke', keyId), { code: 0, out: `${keyId} is revoked\n`, err: '' })
  t.equal(JSON.parse((await operate('revoke', keyId, '--json')).out).key_id, keyId)

  const listed = JSON.parse((await operate('list', '--json')).out)
  t.strictSame(
    listed.map(({ key_id, status }: { key_id: string; status: string }) => [key_id, status]).sort(),
    [
      [keyId, 'revoked'],
      [second.key_id, 'active'],
    ].sort(),
  )
  const table = await operate('list', '--tenant', 'acme')
  t.match(
    table.out,
    /^key id +tenant +environment +status +scopes +issued by +label\n\S+ +acme +mainnet +revoked +wallets:read,assets:read +operator +shop\n$/,
  )
  t.equal(JSON.parse((await operate('list', '--limit', '1', '--json')).out).length, 1)
  for (const { out } of [table, await operate('list', '--json')])
    t.notOk(out.includes('bsk_') || out.includes(digestOf(token)))
})

t.test('each failure prints one line and has its own exit code', async (t) => {
  const { operate, revoke, issueApiKey } = await withAccess(t)
  t.match(await operate('help'), { code: 0, out: /^Usage: npm run keys/, err: /^$/ })
  t.match(await operate('issue', '--tenant', 'acme'), {
    code: 2,
    out: /^$/,
    err: /^keys: [^\n]*--environment[^\n]*\n$/,
  })
  t.match(await operate('list', '--nope'), { code: 2, out: /^$/, err: /^keys: [^\n]*nope[^\n]*\n$/ })
  const bad = await operate(
    'issue',
    '--tenant',
    'Acme',
    '--environment',
    'mainnet',
    '--scopes',
    'x',
    '--expires',
    '2020-01-01',
  )
  t.match(bad, { code: 1, out: /^$/, err: /^keys: tenant [^\n]*scopes [^\n]*expires_at [^\n]*\n$/ })
  t.strictSame(await operate('revoke', 'key_unknown'), { code: 1, out: '', err: 'keys: No such API key.\n' })

  const nowhere = new pg.Pool({ connectionString: 'postgresql://127.0.0.1:1/none' })
  t.after(() => nowhere.end())
  const keys = createApiKeyRows(nowhere)
  const away = keysProgram((task) => task({ issueApiKey, revokeApiKey: revoke, keys, clock: Date.now }), SCOPE_RULES)
  t.strictSame(await runProgramLine(away, ['list']), {
    code: 3,
    out: '',
    err: 'keys: The database is not available: try again.\n',
  })
  const authenticator = createAuthenticator({ keys, clock: Date.now, timer: performance.now.bind(performance) })
  await t.rejects(authenticator.verify(`bsk_mainnet_${'0'.repeat(64)}`), {
    code: 'database_unavailable',
    retryable: true,
  })
})
