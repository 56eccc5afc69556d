/** API keys: what may be issued, the form of a token, and the command line. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import { type ApiKeyCommand, apiKeyDecider } from '../../src/access/decider.ts'
import type { ApiKeyEvent, ApiKeyIssued } from '../../src/access/events.ts'
import { type KeysPorts, keysProgram } from '../../src/access/keys-program.ts'
import { createToken, digestOf, isToken } from '../../src/access/token.ts'
import { SCOPES } from '../../src/declarations.ts'
import { upcast } from '../../src/event-log/aggregate.ts'
import { runProgramLine } from '../support/cli.ts'

const NOW = '2026-11-21T12:00:00.000Z'
const key: Omit<ApiKeyIssued['data'], 'issuedAt'> = {
  tenantId: 'acme',
  environment: 'mainnet',
  label: 'billing 💶',
  digest: digestOf('bsk'),
  scopes: ['*'],
  expiresAt: null,
}
const issue = (fields: Partial<typeof key> = {}): ApiKeyCommand => ({
  type: 'IssueApiKey',
  key: { ...key, ...fields },
  knownScopes: SCOPES,
  now: NOW,
})
const issued: ApiKeyEvent = { type: 'ApiKeyIssued', data: { ...key, issuedAt: NOW } }
const revoked: ApiKeyEvent = { type: 'ApiKeyRevoked', data: { revokedAt: NOW } }

function given(...events: ApiKeyEvent[]) {
  const state = events.reduce(apiKeyDecider.evolve, apiKeyDecider.initialState)
  return {
    when: (command: ApiKeyCommand) => ({
      expect: (t: Test, ...expected: ApiKeyEvent[]) => t.strictSame(apiKeyDecider.decide(command, state), expected),
      expectRefusal: (t: Test, error: { readonly code: string }) =>
        t.throws(() => apiKeyDecider.decide(command, state), error),
    }),
  }
}

t.test('a key is issued once, revoked once, and revoking it again changes nothing', async (t) => {
  const revoke: ApiKeyCommand = { type: 'RevokeApiKey', now: NOW }
  given().when(issue()).expect(t, issued)
  given(issued).when(issue()).expectRefusal(t, { code: 'api_key_exists' })
  given(issued).when(revoke).expect(t, revoked)
  given(issued, revoked).when(revoke).expect(t)
  given().when(revoke).expectRefusal(t, { code: 'api_key_not_found' })
})

t.test('every invalid field of a key is reported in one answer', async (t) => {
  const fields = { tenantId: 'Acme', label: 'a'.repeat(129), scopes: ['wallets:read', 'wallets:raed'], expiresAt: NOW }
  try {
    apiKeyDecider.decide(issue(fields), apiKeyDecider.initialState)
    t.fail('the command with invalid fields was not refused')
  } catch (error) {
    const { items } = error as { items: { field: string; code: string }[] }
    t.strictSame(
      items.map(({ field, code }) => [field, code]),
      [
        ['tenant', 'invalid_tenant'],
        ['label', 'invalid_label'],
        ['scopes', 'invalid_scopes'],
        ['expires_at', 'expires_in_the_past'],
      ],
    )
  }
})

t.test('no key is issued to a tenant of the service itself, and one issued earlier stays readable', async (t) => {
  for (const tenantId of ['system', 'sandbox']) {
    try {
      apiKeyDecider.decide(issue({ tenantId }), apiKeyDecider.initialState)
      t.fail(`the command for the tenant ${tenantId} was not refused`)
    } catch (error) {
      t.match((error as { items: unknown }).items, [
        {
          field: 'tenant',
          code: 'reserved_tenant',
          message: /^tenant must not be system or sandbox: .*another name\.$/,
        },
      ])
    }
    const before: ApiKeyEvent = { type: 'ApiKeyIssued', data: { ...key, tenantId, issuedAt: NOW } }
    given(before)
      .when({ type: 'RevokeApiKey', now: NOW })
      .expect(t, { type: 'ApiKeyRevoked', data: { revokedAt: NOW } })
  }
  for (const tenantId of ['system-a', 'sandboxes'])
    t.ok(apiKeyDecider.decide(issue({ tenantId }), apiKeyDecider.initialState))
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
  const bad: Partial<typeof key>[] = [
    { tenantId: '' },
    { tenantId: '-a' },
    { tenantId: 'a b' },
    { tenantId: 'a/b' },
    { tenantId: 'x'.repeat(64) },
    { label: 'a\nb' },
    { label: '\u0000' },
    { label: '\ud800' },
    { scopes: [] },
    { scopes: [''] },
    { scopes: ['wallets:*'] },
    { expiresAt: '2027-01-01' },
    { expiresAt: '2026-11-21T11:59:59.999Z' },
  ]
  for (const fields of good)
    given()
      .when(issue(fields))
      .expect(t, { type: 'ApiKeyIssued', data: { ...key, ...fields, issuedAt: NOW } })
  for (const fields of bad) given().when(issue(fields)).expectRefusal(t, { code: 'validation_failed' })
})

t.test('every version of every event that was ever written is still read', async (t) => {
  const read = (type: string) => {
    const golden = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
    return upcast<ApiKeyEvent>(apiKeyAggregate.schemas, golden.type, golden.schema_version, golden.data)
  }
  t.strictSame(Object.keys(apiKeyAggregate.schemas), ['ApiKeyIssued', 'ApiKeyRevoked'])
  const before = apiKeyAggregate.evolve(apiKeyAggregate.initialState, read('ApiKeyIssued'))
  const after = apiKeyAggregate.evolve(before, read('ApiKeyRevoked'))
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
          expires_at: '2027-01-01T00:00:00.000Z',
          revoked_at: '2026-11-22T12:00:00.000Z',
          created_at: '2026-11-21T12:00:00.000Z',
          version: 2,
        },
      },
    ],
    holds: [],
  })
})

t.test('a token has 256 random bits and names its environment; its digest is plain SHA-256', async (t) => {
  const tokens = Array.from({ length: 100 }, () => createToken('testnet'))
  t.equal(new Set(tokens).size, 100)
  for (const token of tokens) t.ok(isToken(token) && /^bsk_testnet_[0-9a-f]{64}$/.test(token))
  for (const text of ['', 'bsk_', `${tokens[0]}0`, tokens[0]?.toUpperCase() ?? '', `bsk_devnet_${'0'.repeat(64)}`])
    t.notOk(isToken(text))
  t.equal(digestOf('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad') // FIPS 180-4's own example.
})

/** Runs a command line of `npm run keys`; `asked` holds what the use cases were asked. */
async function run(...args: readonly string[]) {
  const asked: unknown[] = []
  const ports: KeysPorts = {
    issueApiKey: async (request) => {
      asked.push(request)
      return {
        ...key,
        ...request,
        keyId: 'key_1',
        token: 'bsk',
        label: '',
        scopes: [],
        expiresAt: null,
        createdAt: NOW,
      }
    },
    revokeApiKey: async (keyId) => {
      asked.push(keyId)
      return { keyId, tenantId: 'acme', revokedAt: NOW }
    },
    keys: {
      list: async (filter) => {
        asked.push(filter)
        return []
      },
    },
    clock: () => 0,
  }
  return {
    ...(await runProgramLine(
      keysProgram((task) => task(ports)),
      args,
    )),
    asked,
  }
}

t.test('each command passes its options to its use case', async (t) => {
  const plain = await run('issue', '--tenant', 'acme', '--environment', 'mainnet')
  t.match(plain, { code: 0, err: '' })
  t.strictSame(plain.asked, [{ tenantId: 'acme', environment: 'mainnet' }])
  const all = [
    'issue',
    '--json',
    '--tenant=acme',
    '--environment=testnet',
    '--label=x y',
    '--scopes=wallets:read, assets:read',
  ]
  const dated = await run(...all, '--expires', '2027-01-01')
  t.strictSame(dated.asked, [
    {
      tenantId: 'acme',
      environment: 'testnet',
      label: 'x y',
      scopes: ['wallets:read', 'assets:read'],
      expiresAt: '2027-01-01T00:00:00.000Z',
    },
  ])
  t.match(JSON.parse(dated.out), { key_id: 'key_1' })
  t.match(await run(...all, '--expires', '2028-02-29T12:30:00.5Z'), {
    asked: [{ expiresAt: '2028-02-29T12:30:00.500Z' }],
  })
  t.strictSame((await run('list')).asked, [{ limit: 100 }])
  t.strictSame((await run('list', '--tenant', 'acme', '--limit', '5')).asked, [{ tenantId: 'acme', limit: 5 }])
  t.strictSame((await run('revoke', 'key_1')).asked, ['key_1'])
  t.match(await run('issue', '--help'), {
    code: 0,
    asked: [],
    out: /--environment <name>[\s\S]*"mainnet",\s+"testnet"/,
  })
})

t.test('an invalid command line exits with 2 and an error line that names the option', async (t) => {
  const base = ['issue', '--tenant', 'acme', '--environment', 'mainnet']
  const wrong: [args: string[], says: RegExp][] = [
    [['isue'], /unknown command 'isue' \(Did you mean issue\?\)/],
    [['issue', '--environment', 'mainnet'], /required option '--tenant <name>' not specified/],
    [['issue', '--tenant=', '--environment', 'mainnet'], /'--tenant <name>' .*The value is missing/],
    [['issue', '--tenant', 'acme'], /required option '--environment <name>' not specified/],
    [['issue', '--tenant', 'acme', '--environment', 'live'], /'--environment <name>' .*choices are mainnet, testnet/],
    [[...base, '--scope', '*'], /unknown option '--scope'/],
    [[...base, 'key_1'], /too many arguments for 'issue'/],
    [[...base, '--limit', '5'], /unknown option '--limit'/],
    [['revoke'], /missing required argument 'key-id'/],
    [['revoke', 'a', 'b'], /too many arguments for 'revoke'/],
    [['list', '--limit', '0'], /--limit must be a number from 1 to 9999/],
    [['list', '--limit', '10000'], /--limit must be a number from 1 to 9999/],
    [['list', '--label', 'x'], /unknown option '--label'/],
    ...[
      'tomorrow',
      '2027',
      '2027-13-01',
      '2027-02-30',
      '2027-01-01T25:00:00Z',
      '2027-01-01T12:00:00',
      '01/02/2027',
    ].map((time): [string[], RegExp] => [[...base, '--expires', time], /--expires/]),
  ]
  for (const [args, says] of wrong) {
    const { code, out, err, asked } = await run(...args)
    t.strictSame([code, out, asked], [2, '', []], args.join(' '))
    t.match(err, /^keys: [^\n]*\n$/)
    t.match(err, says)
  }
  t.match(await run(), { code: 2, out: '', err: /^Usage: npm run keys -- / })
})
