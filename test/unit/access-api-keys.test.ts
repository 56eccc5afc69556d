/** The form of a token, and the command line of API keys. */

import t from 'tap'
import { type KeysContext, keysProgram } from '../../src/access/keys-program.ts'
import { createToken, digestOf, isToken } from '../../src/access/token.ts'
import { SCOPE_RULES } from '../../src/declarations.ts'
import { runProgramLine } from '../support/cli.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-11-21T12:00:00.000Z'

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
  const ports: KeysContext = {
    issueApiKey: async (request) => {
      asked.push(request)
      return {
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
      keysProgram((task) => task(ports), SCOPE_RULES),
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
  matchExactly(t, await run(...all, '--expires', '2028-02-29T12:30:00.5Z'), {
    asked: [{ expiresAt: '2028-02-29T12:30:00.500Z' }],
  })
  t.strictSame((await run('list')).asked, [{ limit: 100 }])
  t.strictSame((await run('list', '--tenant', 'acme', '--limit', '5')).asked, [{ tenantId: 'acme', limit: 5 }])
  t.strictSame((await run('revoke', 'key_1')).asked, ['key_1'])
  matchExactly(t, await run('issue', '--help'), {
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
