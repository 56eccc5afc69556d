/** Access control: keys, scopes, environments and tenants. Refusals reveal nothing to unauthorized callers. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { SCOPES } from '../../../src/declarations.ts'
import { type Client, type Reply, told } from '../../support/client.ts'
import { newAddress, type Sandbox, sendTransfer } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

const UNKNOWN_WALLET = '/v1/wallets/wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const UNKNOWN_SIGNATURE = 'sig_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const UNKNOWN_TRANSACTION = 'tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
const TYPED_DATA = { domain: { name: 'a' }, types: { A: [{ name: 'b', type: 'bool' }] }, message: { b: true } }

export async function checkAccess(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('access')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '1' })
  const transaction = await sendTransfer(client, wallet, { to: newAddress(), amount: '0.1', asset: 'ETH' })
  await t.test('every invalid key gets the same answer', (t) => keys(t, sandbox))
  await t.test('a resource of another tenant gets the same answer as one that does not exist', async (t) =>
    foreign(t, await sandbox.tenant('strangers'), wallet.path, transaction),
  )
  await t.test('every response to a key reports its rate limit', async (t) => {
    const { headers } = await client.get(wallet.path)
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
      t.match(headers[name], /^\d+$/, name)
  })
  await t.test('a key allows what its scopes allow', (t) => scopes(t, sandbox, wallet.path, transaction))
  await t.test('a key works in its own environment only', (t) => environments(t, sandbox, wallet.path, transaction))
}

/** Every route that names a wallet or a transaction, as calls with the given paths. */
function calls(client: Client, wallet: string, transaction: string): Readonly<Record<string, () => Promise<Reply>>> {
  const transfer = { to: newAddress(), amount: '0.1', asset: 'ETH' }
  return {
    read: () => client.get(wallet),
    balance: () => client.get(`${wallet}/balance`),
    list: () => client.get(`${wallet}/transactions`),
    patch: () => client.patch(wallet, { label: 'mine now' }),
    remove: () => client.remove(`${wallet}?force=true`),
    restore: () => client.post(`${wallet}/restore`),
    transfer: () => client.post(`${wallet}/transfer`, transfer),
    preview: () => client.post(`${wallet}/transfer/preview`, transfer),
    signMessage: () => client.post(`${wallet}/sign/message`, { message: 'mine now' }),
    signTypedData: () => client.post(`${wallet}/sign/typed-data`, TYPED_DATA),
    signature: () => client.get(`${wallet}/signatures/${UNKNOWN_SIGNATURE}`),
    transaction: () => client.get(transaction),
    cancel: () => client.post(`${transaction}/cancel`),
    speedUp: () => client.post(`${transaction}/speed-up`, { gas_priority: 'high' }),
  }
}

async function keys(t: Test, { state, clientOf, keys }: Sandbox): Promise<void> {
  const issue = (...more: string[]) => keys('issue', '--tenant', 'access', '--environment', 'mainnet', ...more)
  const expiring = await issueExpiring(issue, 4_000)
  const revoked = await issue()
  t.equal((await clientOf(revoked.api_key).get('/v1/wallets')).status, 200)
  await keys('revoke', String(revoked.key_id))
  // The API may use its cache for a second.
  await sleep(Math.max(1_100, Date.parse(String(expiring.expires_at)) - Date.now() + 1))
  const good = state.api_key
  const bad = [
    revoked.api_key,
    expiring.api_key,
    `bsk_mainnet_${'0'.repeat(64)}`,
    'x',
    good.slice(0, -1),
    `${good}0`,
    good.toUpperCase(),
  ]
  const shapes = new Set<string>()
  for (const key of bad) {
    const { status, headers, body } = await clientOf(key).get('/v1/wallets')
    const { date: _, 'x-request-id': id, ...rest } = headers
    t.equal(body.request_id, id)
    shapes.add(JSON.stringify([status, rest, { ...body, request_id: '' }]))
  }
  t.equal(shapes.size, 1)
  t.match([...shapes][0], /^\[401,.*api_key_invalid/)
  const call = async (headers: Record<string, string>) => clientOf().once({ path: '/v1/wallets', headers })
  for (const authorization of ['Bearer', 'Basic YTpi', good, `Bearer ${good}, Bearer ${good}`]) {
    const answer = await call({ authorization })
    t.strictSame([answer.status, ...told(answer)], [401, '- api_key_invalid'], authorization.slice(0, 12))
  }
  const none = await call({})
  t.strictSame([none.status, ...told(none)], [401, '- api_key_missing'])
  t.equal((await call({ authorization: `bearer  ${good}` })).status, 200, 'a lower-case scheme is accepted')
  t.equal((await clientOf().post('/v1/wallets/create', '{"broken')).status, 401, 'the key is checked before the body')
}

/** The operator command may be slow on a busy machine: an expiry that has passed by then is refused. */
async function issueExpiring(
  issue: (...more: string[]) => Promise<Record<string, string>>,
  lifeMs: number,
): Promise<Record<string, string>> {
  const expires = new Date(Date.now() + lifeMs).toISOString()
  return issue('--expires', expires).catch(() => issueExpiring(issue, 2 * lifeMs))
}

async function foreign(t: Test, stranger: Client, wallet: string, transaction: string): Promise<void> {
  const theirs = calls(stranger, wallet, transaction)
  const nobodys = calls(stranger, UNKNOWN_WALLET, `${UNKNOWN_WALLET}/transactions/${UNKNOWN_TRANSACTION}`)
  for (const [name, call] of Object.entries(theirs)) {
    const [foreign, unknown] = [await call(), await nobodys[name]?.()]
    t.strictSame([foreign.status, foreign.body.errors], [404, unknown?.body.errors], name)
  }
  t.strictSame((await stranger.get('/v1/wallets')).body.data.wallets, [])
}

async function scopes(t: Test, sandbox: Sandbox, wallet: string, transaction: string): Promise<void> {
  const { api_key } = await sandbox.keys(
    'issue',
    '--tenant',
    'access',
    '--environment',
    'mainnet',
    '--scopes',
    'wallets:read',
  )
  const reader = sandbox.clientOf(api_key)
  const allowed = ['read', 'balance']
  for (const [name, call] of Object.entries(calls(reader, wallet, transaction))) {
    const answer = await call()
    const expected = allowed.includes(name) ? [200] : [403, '- insufficient_scope']
    t.strictSame([answer.status, ...told(answer)], expected, name)
  }
  const create = await reader.post('/v1/wallets/create', { type: 'hd', network: 'ethereum' })
  matchExactly(t, [create.status, create.body.message], [403, /does not have the scope wallets:write/])
}

async function environments(t: Test, sandbox: Sandbox, wallet: string, transaction: string): Promise<void> {
  const { api_key } = await sandbox.keys(
    'issue',
    '--tenant',
    'access',
    '--environment',
    'testnet',
    '--scopes',
    ['*', ...SCOPES].join(','),
  )
  const tester = sandbox.clientOf(api_key)
  for (const [name, call] of Object.entries(calls(tester, wallet, transaction))) {
    const answer = await call()
    t.strictSame([answer.status, ...told(answer)], [403, '- environment_mismatch'], name)
  }
  const create = { type: 'hd', network: 'polygon' }
  const named = await tester.post('/v1/wallets/create', { ...create, environment: 'mainnet' })
  t.strictSame([named.status, ...told(named)], [403, '- environment_mismatch'])
  const absent = await tester.post('/v1/wallets/create', create)
  t.strictSame([absent.status, ...told(absent)], [422, 'network network_not_configured'])
  t.match(absent.body.message, 'POLYGON_TESTNET_RPC_URLS')
  t.strictSame((await tester.get('/v1/assets')).body.data.assets, [])
}
