/** Repeated requests: always the same response, and one effect, however many arrive at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { newAddress, type Sandbox, type Wallet } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

export async function checkOnce(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('once')
  const wallet = await sandbox.wallet(client, 'polygon', { POL: '5' })
  await t.test('the same key and body give the same resource, on every request that makes one', (t) =>
    replays(t, client, wallet),
  )
  await t.test('a key belongs to its tenant, and the key of a refused request can be used again', (t) =>
    ownership(t, sandbox, client, wallet),
  )
  await t.test('simultaneous requests with one key have one effect', (t) => simultaneous(t, client, wallet))
  await t.test('a transfer is replayed even when a new one would be refused', (t) => later(t, client, wallet))
}

async function replays(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const token = (await client.get('/v1/assets?network=polygon')).body.data.assets[1].contract_address
  const requests: readonly [string, Record<string, string>, Record<string, string>, string][] = [
    ['/v1/wallets/create', { type: 'hd', network: 'ethereum', label: 'once' }, { label: 'twice' }, 'wallet_id'],
    ['/v1/wallets/watch', { network: 'ethereum', address: newAddress() }, { label: 'x' }, 'wallet_id'],
    [`${wallet.path}/transfer`, { to: newAddress(), amount: '0.5', asset: 'POL' }, { amount: '0.6' }, 'transaction_id'],
    [
      '/v1/sandbox/faucet',
      { address: wallet.address, network: 'polygon', amount: '1' },
      { amount: '2' },
      'transaction_id',
    ],
    ['/v1/assets', { network: 'polygon', contract_address: token }, { network: 'binance' }, 'asset_id'],
  ]
  for (const [path, body, change, id] of requests) {
    const key = { 'idempotency-key': `key of ${path}`.replaceAll(' ', '-') }
    const first = await client.post(path, body, key)
    matchExactly(t, [first.status, first.headers['idempotency-replayed']], [/^20[012]$/, undefined], path)
    const again = await client.post(path, Object.fromEntries(Object.entries(body).reverse()), key)
    t.equal(again.body.data[id], first.body.data[id], `${path} ignores the order of the members`)
    // An asset that was already registered opened nothing, so there is nothing to replay.
    if (path === '/v1/assets') continue
    t.strictSame([again.status, again.headers['idempotency-replayed']], [first.status, 'true'])
    const other = await client.post(path, { ...body, ...change }, key)
    t.strictSame([other.status, ...told(other)], [422, '- idempotency_key_reused'])
  }
  const elsewhere = await client.post(
    `${wallet.path}/transfer`,
    { to: newAddress(), amount: '0.5', asset: 'POL' },
    { 'idempotency-key': 'key-of-/v1/wallets/create' },
  )
  t.strictSame([elsewhere.status, ...told(elsewhere)], [422, '- idempotency_key_reused'], 'another path is refused')
  t.equal((await client.get(`${wallet.path}/transactions`)).body.data.transactions.length, 1)
}

async function ownership(t: Test, sandbox: Sandbox, client: Client, wallet: Wallet): Promise<void> {
  const other = await sandbox.tenant('once-more')
  const key = { 'idempotency-key': 'order-7' }
  const create = { type: 'hd', network: 'polygon' }
  const [mine, theirs] = [
    await client.post('/v1/wallets/create', create, key),
    await other.post('/v1/wallets/create', create, key),
  ]
  t.not(mine.body.data.wallet_id, theirs.body.data.wallet_id)
  const faucet = (who: Client, amount: string) =>
    who.post(
      '/v1/sandbox/faucet',
      { address: wallet.address, network: 'polygon', amount },
      { 'idempotency-key': 'gift' },
    )
  t.strictSame([(await faucet(client, '1')).status, (await faucet(other, '2')).status], [201, 201])

  const send = (amount: string) =>
    client.post(`${wallet.path}/transfer`, { to: newAddress(), amount, asset: 'POL' }, { 'idempotency-key': 'order-8' })
  t.equal((await send('1000000')).status, 422)
  const sent = await send('0.1')
  t.strictSame([sent.status, sent.headers['idempotency-replayed']], [202, undefined])
}

async function simultaneous(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const body = { to: newAddress(), amount: '0.25', asset: 'POL', reference_id: 'at once' }
  const send = (amount: string, key: string) =>
    client.post(`${wallet.path}/transfer`, { ...body, amount }, { 'idempotency-key': key })
  const answers = await Promise.all(Array.from({ length: 500 }, () => send('0.25', 'at-once')))
  t.ok(answers.every(({ status }) => status === 202))
  t.equal(new Set(answers.map(({ body }) => body.data.transaction_id)).size, 1)
  t.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
  const { data } = (await client.get(`${wallet.path}/transactions?reference_id=at%20once`)).body
  t.equal(data.transactions.length, 1)
  const refused = await Promise.all(Array.from({ length: 40 }, () => send('1000', 'too-much')))
  for (const answer of refused) t.strictSame([answer.status, ...told(answer)], [422, 'amount insufficient_funds'])

  const create = { type: 'hd', network: 'ethereum', external_id: 'made once' }
  const made = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/v1/wallets/create', create, { 'idempotency-key': 'make' })),
  )
  t.equal(new Set(made.map(({ body }) => body.data.address)).size, 1)
}

async function later(t: Test, client: Client, wallet: Wallet): Promise<void> {
  // Long enough to be signed in time on a slow machine.
  const validUntil = new Date(Date.now() + 10_000)
  const body = { to: newAddress(), amount: '0.01', asset: 'POL', valid_until: validUntil.toISOString() }
  const send = () => client.post(`${wallet.path}/transfer`, body, { 'idempotency-key': 'before-it-expires' })
  const first = await send()
  t.equal(first.status, 202)
  await sleep(Math.max(0, validUntil.getTime() - Date.now() + 1))
  const expired = await send()
  t.strictSame([expired.status, expired.body.data.transaction_id], [202, first.body.data.transaction_id])
  while ((await client.remove(`${wallet.path}?force=true`)).status !== 200) await sleep(200)
  const archived = await send()
  t.strictSame([archived.status, archived.body.data.transaction_id], [202, first.body.data.transaction_id])
  t.equal(archived.headers['idempotency-replayed'], 'true')
  t.match(archived.body.data, { status: 'confirmed', hash: /^0x/ }, 'the replay has the current status')
}
