/** Every documented refusal, as a table. A refused request leaves no trace. */
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { newAddress, type Sandbox, type Wallet } from '../../support/e2e-sandbox.ts'

type Case = readonly [what: string, fields: object, expected: string | readonly string[], words?: string | RegExp]

const DECIMAL = 'digits, no sign, no exponent, no leading zeros'

/** Fields of a transfer, each invalid in a different way. */
const TRANSFERS: readonly Case[] = [
  ...['1e5', '-1', '01', '.5', '1.', '', ' 1', '+1', '1,5', '0x1', 'NaN', 'Infinity', '١', '1\n'].map(
    (amount): Case => [`amount ${printable(amount)}`, { amount }, 'amount invalid_amount', DECIMAL],
  ),
  ['amount zero', { amount: '0' }, 'amount amount_zero', 'greater than 0'],
  ['amount zero with a fraction', { amount: '0.000' }, 'amount amount_zero'],
  [
    'a 19th decimal',
    { amount: '0.0000000000000000001' },
    'amount too_many_decimals',
    'has 19 decimals, but the asset has 18',
  ],
  ['a 7th decimal of USDC', { amount: '0.0000001', asset: 'USDC' }, 'amount too_many_decimals', 'at most 6'],
  ['78 digits', { amount: '9'.repeat(78) }, 'amount amount_too_large', '2^256'],
  ['78 digits in base units', { amount: '9'.repeat(60) }, 'amount amount_too_large'],
  ['a number', { amount: 1.5 }, 'amount wrong_type', 'must be a string, not a number: put it in quotes'],
  ['null', { amount: null }, 'amount wrong_type', 'not null'],
  ['a list', { amount: ['1'] }, 'amount wrong_type', 'not an array'],
  [
    'no amount and no asset',
    { amount: undefined, asset: undefined },
    ['amount required', 'asset required'],
    /^The request has 2 invalid fields\.$/,
  ],
  ['a wrong checksum', { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }, 'to bad_checksum', 'EIP-55'],
  ['the zero address', { to: `0x${'0'.repeat(40)}` }, 'to zero_address', 'are lost'],
  ['a short address', { to: '0x7099' }, 'to invalid_address', '40 hexadecimal digits'],
  ['no hex', { to: `0x${'g'.repeat(40)}` }, 'to invalid_address'],
  ['a name', { to: 'vitalik.eth' }, 'to invalid_address'],
  ['space around an address', { to: ` ${newAddress()}` }, 'to invalid_address'],
  [
    'an unknown asset',
    { asset: 'USDCC' },
    'asset unknown_asset',
    /did you mean USDC\?.*Known assets: ETH, USDC.*POST \/v1\/assets/,
  ],
  ['a Cyrillic asset', { asset: 'ЕТН' }, 'asset unknown_asset'],
  ['a contract that is no asset', { asset: newAddress() }, 'asset unknown_asset'],
  ['an asset of another chain', { asset: 'eip155:1/slip44:60' }, 'asset unknown_asset'],
  ['a prototype for an asset', { asset: '__proto__' }, 'asset unknown_asset'],
  ['a misspelt field', { amout: '1' }, 'amout unknown_field', 'did you mean amount?'],
  ['another writing of a field', { gasPriority: 'high' }, 'gasPriority unknown_field', 'did you mean gas_priority?'],
  ['a field of nobody', { nonce: 7 }, 'nonce unknown_field'],
  ['an unknown priority', { gas_priority: 'urgent' }, 'gas_priority not_allowed', 'low, medium, high'],
  ['a time that is past', { valid_until: '2020-01-01T00:00:00Z' }, 'valid_until expired', 'in the past'],
  ['a leap second', { valid_until: '2030-06-30T23:59:60Z' }, 'valid_until invalid_format', 'ISO 8601'],
  ['a time without a zone', { valid_until: '2030-01-01T00:00:00' }, 'valid_until invalid_format', 'with a time zone'],
  ['a bell in a memo', { memo: 'a\u0007' }, 'memo invalid_text', 'Control characters'],
  ['257 characters of memo', { memo: 'x'.repeat(257) }, 'memo invalid_text', 'at most 256'],
  ['an empty reference', { reference_id: '' }, 'reference_id invalid_text', '1 to 128 characters'],
  ['more than there is', { amount: '3' }, 'amount insufficient_funds', /has 2 ETH available and needs 3\.0/],
  ['all, with nothing left for gas', { amount: '2' }, 'amount insufficient_funds', /needs 2\.0/],
  ['a token that is not there', { asset: 'USDC' }, 'amount insufficient_funds', 'has 0 USDC available and needs 0.5'],
  [
    'all of it at once',
    { to: `0x${'0'.repeat(40)}`, amount: '0', valid_until: '2020-01-01T00:00:00Z' },
    ['to zero_address', 'amount amount_zero', 'valid_until expired'],
    'The request has 3 invalid fields.',
  ],
]

/** Labels that could pass for others, or break their display. */
const BAD_LABELS = [
  'a\u0000b',
  'a\tb',
  'a\nb',
  '\u007f',
  '\u0085',
  '\u2028',
  'a\u202eb',
  '\u2066',
  '\ud800',
  'x'.repeat(129),
]
const GOOD_LABELS = [
  '👨‍👩‍👧 Familie',
  'שלום',
  '金庫',
  '\u00e9',
  ' ',
  '',
  "'; DROP TABLE wallets;--",
  '<b>',
  '🏦'.repeat(128),
]

const WALLETS: readonly Case[] = [
  ['no type', { type: undefined }, 'type required', 'one of mpc, hd'],
  ['the type of a watch', { type: 'watch' }, 'type not_allowed', 'mpc, hd'],
  ['another writing of a network', { network: 'Ethereum' }, 'network not_allowed', 'did you mean ethereum?'],
  ['a network that is a list', { network: ['ethereum'] }, 'network not_allowed', 'ethereum, polygon, binance'],
  ['an unknown environment', { environment: 'sandbox' }, 'environment not_allowed', 'mainnet, testnet'],
  ['a misspelt field', { lable: 'x' }, 'lable unknown_field', 'did you mean label?'],
  ['a number for a label', { label: 5 }, 'label wrong_type', 'put it in quotes'],
  ['an empty external_id', { external_id: '' }, 'external_id invalid_text', '1 to 64 characters'],
  ...BAD_LABELS.map((label): Case => [`label ${printable(label)}`, { label }, 'label invalid_text']),
]

const WATCHES: readonly Case[] = [
  ['a wrong checksum', { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }, 'address bad_checksum'],
  [
    'wrong notifications',
    { notifications: { large_transfers: 'yes', incoming: true, large_transfer_threshold_usd: '-1' } },
    [
      'notifications.incoming unknown_field',
      'notifications.large_transfer_threshold_usd invalid_amount',
      'notifications.large_transfers wrong_type',
    ],
  ],
]

export async function checkRefusals(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('refused')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '2' })
  const before = await recorded(sandbox)
  const base = { to: newAddress(), amount: '0.5', asset: 'ETH' }
  for (const path of [`${wallet.path}/transfer`, `${wallet.path}/transfer/preview`]) {
    await t.test(`POST …${path.slice(wallet.path.length)} reports each error with its path`, async (t) => {
      const cases = path.endsWith('preview') ? TRANSFERS.filter(([, , expected]) => !isAboutFunds(expected)) : TRANSFERS
      await each(t, client, path, base, cases)
    })
  }
  await t.test('POST /v1/wallets/create reports each error with its path', (t) =>
    each(t, client, '/v1/wallets/create', { type: 'hd', network: 'ethereum' }, WALLETS),
  )
  await t.test('POST /v1/wallets/watch reports each error with its path', (t) =>
    each(t, client, '/v1/wallets/watch', { address: newAddress(), network: 'ethereum' }, WATCHES),
  )
  await t.test('invalid queries, assets and faucet requests are refused in the same form', (t) =>
    others(t, client, wallet),
  )
  await t.test('the refused requests recorded nothing', async (t) => t.strictSame(await recorded(sandbox), before))
  await t.test('a label accepts any script', async (t) => {
    for (const label of GOOD_LABELS) {
      const { body } = await client.post('/v1/wallets/create', { type: 'hd', network: 'ethereum', label })
      t.equal(body.data?.label, label)
    }
  })
}

/** Some of these would break the test report too. */
function printable(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
}

function isAboutFunds(expected: string | readonly string[]): boolean {
  return expected === 'amount insufficient_funds'
}

async function each(t: Test, client: Client, path: string, base: object, cases: readonly Case[]): Promise<void> {
  for (const [what, fields, expected, words = /./] of cases) {
    const answer = await client.post(path, { ...base, ...fields }, { 'idempotency-key': 'never-burnt' })
    t.strictSame([answer.status, ...told(answer).sort()], [422, ...[expected].flat().sort()], what)
    t.match(
      answer.body,
      { status: 'error', message: words, request_id: answer.headers['x-request-id'] },
      `${what}: message`,
    )
  }
}

async function others(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const gets: readonly [string, string, string | RegExp][] = [
    ['/v1/wallets?limit=0', 'limit too_small', 'at least 1'],
    ['/v1/wallets?limit=101', 'limit too_large', 'at most 100'],
    ['/v1/wallets?limit=ten', 'limit wrong_type', 'limit must be a whole number.'],
    ['/v1/wallets?limit=1&limit=2', 'limit wrong_type', 'limit must be sent once.'],
    ['/v1/wallets?netwrok=polygon', 'netwrok unknown_query_parameter', 'did you mean network?'],
    ['/v1/wallets?address=0x12', 'address invalid_address', '40 hexadecimal digits'],
    ['/v1/wallets?label=%00', 'label invalid_text', 'contains the character NUL'],
    ['/v1/wallets?cursor=bm9uc2Vuc2U', 'cursor invalid_cursor', 'next_cursor'],
    [`${wallet.path}/transactions?asset=%00`, 'asset invalid_text', 'contains the character NUL'],
    [`${wallet.path}/transactions?state=done`, 'state not_allowed', 'requested, signed, submitted'],
    [`${wallet.path}?include=everything`, 'include not_allowed', 'archived'],
  ]
  for (const [path, expected, words] of gets) {
    const answer = await client.get(path)
    t.strictSame([answer.status, ...told(answer)], [422, expected], path)
    t.match(answer.body.message, words)
  }
  const force = await client.remove(`${wallet.path}?force=maybe`)
  t.strictSame(
    [force.status, ...told(force), force.body.message],
    [422, 'force wrong_type', 'force must be true or false.'],
  )
  const posts: readonly [string, object, string][] = [
    ['/v1/assets', { network: 'ethereum', contract_address: newAddress() }, 'contract_address not_a_token'],
    ['/v1/sandbox/faucet', { network: 'ethereum', address: `0x${'0'.repeat(40)}` }, 'address zero_address'],
    ['/v1/sandbox/faucet', { network: 'ethereum', address: newAddress(), amount: '0' }, 'amount amount_zero'],
    ['/v1/sandbox/faucet', { network: 'ethereum', address: newAddress(), asset: 'DOGE' }, 'asset unknown_asset'],
  ]
  for (const [path, body, expected] of posts) {
    const answer = await client.post(path, body)
    t.strictSame([answer.status, ...told(answer)], [422, expected])
  }
}

/** The tenant's records in log and read models. Balance changes from the chain are not the tenant's. */
async function recorded({ query }: Sandbox): Promise<Record<string, unknown> | undefined> {
  const [row] = await query(
    `SELECT (SELECT count(*) FROM events WHERE metadata->>'tenantId' LIKE 'refused%' AND type NOT LIKE 'Balance%'
                AND stream_id NOT LIKE 'observed-%') AS events,
            (SELECT count(*) FROM wallets WHERE tenant_id LIKE 'refused%') AS wallets,
            (SELECT count(*) FROM transactions WHERE tenant_id LIKE 'refused%') AS transactions,
            (SELECT count(*) FROM idempotency_keys WHERE tenant_id LIKE 'refused%' OR key LIKE 'refused%') AS keys,
            (SELECT count(*) FROM wallet_holds h JOIN wallets w USING (wallet_id)
              WHERE w.tenant_id LIKE 'refused%' AND h.held <> 0) AS holds`,
  )
  return row
}
