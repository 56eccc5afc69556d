/** Wallets beyond the contract's rows: stable lists, updates, archiving and its refusals, balances over time. */
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox, sendTransfer } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'

export async function checkWallets(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('wallets')
  await t.test('a list follows its filters', (t) => filters(t, client))
  await t.test('pages neither skip nor repeat a wallet while others are made', (t) => pages(t, client))
  await t.test('a label and the notifications of a watch can be changed, and nothing else', (t) => changes(t, client))
  await t.test('an empty wallet is archived, and restored unchanged', (t) => archiving(t, sandbox))
  await t.test('a watch wallet is archived whatever its balance, and its address is watched once', (t) =>
    watching(t, client),
  )
  await t.test('a balance is returned for every asset, and as of a time', (t) => balances(t, sandbox))
}

const idsOf = (wallets: readonly { readonly wallet_id: string }[]) => wallets.map(({ wallet_id }) => wallet_id)

async function create(client: Client, fields: object = {}) {
  const request = { type: 'hd', network: 'ethereum', ...fields }
  const { body, status, text } = await client.post('/v1/wallets/create', request, AS_LONG_AS_MAY_BE)
  if (status !== 201) throw new Error(text)
  return body.data as { readonly wallet_id: string; readonly address: string }
}

async function filters(t: Test, client: Client): Promise<void> {
  const label = 'Treasury 🏦 é'
  const plain = await create(client, { network: 'polygon', label })
  const named = await create(client, { network: 'binance', external_id: 'customer-42' })
  const { body } = await client.post('/v1/wallets/watch', { address: newAddress(), network: 'polygon', label })
  const watch = body.data as { readonly wallet_id: string; readonly address: string }
  const cases: readonly [string, readonly string[]][] = [
    ['', [watch.wallet_id, named.wallet_id, plain.wallet_id]],
    ['type=watch', [watch.wallet_id]],
    ['network=polygon', [watch.wallet_id, plain.wallet_id]],
    [`label=${encodeURIComponent(label)}&type=hd`, [plain.wallet_id]],
    [`label=${encodeURIComponent(label.normalize('NFD'))}`, []],
    [`address=${watch.address.toLowerCase()}`, [watch.wallet_id]],
    ['external_id=customer-42', [named.wallet_id]],
    ['status=active&network=binance', [named.wallet_id]],
    ['status=archived', []],
  ]
  for (const [query, expected] of cases) {
    const { data } = (await client.get(`/v1/wallets?${query}`)).body
    t.strictSame([idsOf(data.wallets), data.has_more, data.next_cursor], [expected, false, null], query)
  }
  const taken = await client.post('/v1/wallets/create', { type: 'hd', network: 'ethereum', external_id: 'customer-42' })
  t.strictSame([taken.status, ...told(taken)], [409, '- external_id_taken'])
}

async function pages(t: Test, client: Client): Promise<void> {
  await Promise.all(Array.from({ length: 7 }, (_, n) => create(client, { label: `page ${n}` })))
  const before = idsOf((await client.get('/v1/wallets?limit=100')).body.data.wallets)
  const seen: string[] = []
  let query = 'limit=3'
  for (;;) {
    const { data } = (await client.get(`/v1/wallets?${query}`)).body
    seen.push(...idsOf(data.wallets))
    t.equal(data.next_cursor !== null, data.has_more)
    if (data.next_cursor === null) break
    await create(client, { label: 'made while somebody reads' })
    query = `limit=3&cursor=${data.next_cursor}`
  }
  t.strictSame(seen, before)
  const other = await client.get(`/v1/assets?${query.replace('limit=3&', '')}`)
  t.strictSame([other.status, ...told(other)], [422, 'cursor invalid_cursor'], 'a cursor of another list is refused')
}

async function changes(t: Test, client: Client): Promise<void> {
  const notifications = { large_transfers: true, incoming_transactions: true }
  const { body } = await client.post('/v1/wallets/watch', { address: newAddress(), network: 'ethereum', notifications })
  const watch = `/v1/wallets/${body.data.wallet_id}`
  const changed = await client.patch(watch, {
    label: 'Cold',
    notifications: { large_transfers: false, large_transfer_threshold_usd: '2500.50' },
  })
  t.equal(changed.status, 200)
  const expected = {
    label: 'Cold',
    notifications: { large_transfers: false, incoming_transactions: true, large_transfer_threshold_usd: '2500.50' },
  }
  t.match(changed.body.data, expected)
  t.match((await client.get(watch)).body.data, expected)
  const own = `/v1/wallets/${(await create(client)).wallet_id}`
  const refusals: readonly [string, unknown, string][] = [
    [own, { notifications: { large_transfers: true } }, 'notifications watch_wallets_only'],
    [own, { lable: 'x' }, 'lable unknown_field'],
    [own, { network: 'polygon' }, 'network unknown_field'],
    [own, { label: null }, 'label wrong_type'],
    [own, {}, '- too_few'],
    [
      watch,
      { notifications: { large_transfer_threshold_usd: '1e3' } },
      'notifications.large_transfer_threshold_usd invalid_amount',
    ],
  ]
  for (const [path, patch, expected] of refusals) {
    const answer = await client.patch(path, patch)
    t.strictSame([answer.status, ...told(answer)], [422, expected])
  }
}

async function archiving(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('archiving')
  const wallet = await sandbox.wallet(client, 'polygon', { POL: '2' })
  const releaseBlocks = sandbox.holdBlocks(t)
  const transaction = await sendTransfer(client, wallet, { to: newAddress(), amount: '1', asset: 'POL' })
  const pending = await client.remove(`${wallet.path}?force=true`)
  t.strictSame([pending.status, ...told(pending)], [409, '- wallet_has_pending_transactions'], 'force changes nothing')
  releaseBlocks()
  t.equal((await client.settle(transaction)).status, 'confirmed')
  const full = await client.remove(wallet.path)
  t.strictSame([full.status, ...told(full)], [409, '- wallet_has_balance'])
  matchExactly(t, full.body.errors?.[0], { details: { balances: [{ currency: 'POL', balance: /^0\.999/ }] } })

  t.equal((await client.remove(`${wallet.path}?force=true`)).status, 200)
  t.equal((await client.remove(wallet.path)).status, 200, 'a second deletion changes nothing')
  const gone = await client.get(wallet.path)
  t.strictSame([gone.status, ...told(gone)], [404, '- wallet_archived'])
  t.match((await client.get(`${wallet.path}?include=archived`)).body.data, { status: 'archived', archived_at: String })
  t.strictSame(idsOf((await client.get('/v1/wallets')).body.data.wallets), [])
  t.strictSame(idsOf((await client.get('/v1/wallets?status=archived')).body.data.wallets), [wallet.walletId])
  t.equal((await client.get(transaction)).body.data.status, 'confirmed', 'its transactions stay readable')
  t.equal((await client.get(`${wallet.path}/transactions`)).body.data.transactions.length, 1)
  const sent = await client.post(`${wallet.path}/transfer`, { to: newAddress(), amount: '0.1', asset: 'POL' })
  t.strictSame([sent.status, ...told(sent)], [409, '- wallet_archived'])
  const renamed = await client.patch(wallet.path, { label: 'x' })
  t.strictSame([renamed.status, ...told(renamed)], [409, '- wallet_archived'])

  t.match((await client.post(`${wallet.path}/restore`)).body.data, { status: 'active', archived_at: null })
  t.equal((await client.get(wallet.path)).body.data.address, wallet.address)
  t.equal((await client.post(`${wallet.path}/transfer`, { to: newAddress(), amount: '0.1', asset: 'POL' })).status, 202)
}

async function watching(t: Test, client: Client): Promise<void> {
  const address = newAddress()
  const watch = (fields: object) => client.post('/v1/wallets/watch', { address, network: 'binance', ...fields })
  t.equal((await client.post('/v1/sandbox/faucet', { address, network: 'binance', amount: '1' })).status, 201)
  const { wallet_id } = (await watch({})).body.data
  const again = await watch({ address: address.toLowerCase() })
  t.strictSame([again.status, ...told(again)], [409, '- watch_exists'])
  t.match(again.body.errors?.[0], { details: { wallet_id } })
  t.equal((await watch({ network: 'polygon' })).status, 201, 'the same address on another network is accepted')
  const own = await create(client, { network: 'binance' })
  const mine = await watch({ address: own.address })
  t.strictSame([mine.status, ...told(mine)], [409, '- address_is_own_wallet'])
  const sent = await client.post(`/v1/wallets/${wallet_id}/transfer`, { to: own.address, amount: '1', asset: 'BNB' })
  t.strictSame([sent.status, ...told(sent)], [422, 'wallet_id watch_only'])

  t.equal((await client.remove(`/v1/wallets/${wallet_id}`)).status, 200, 'a watched wallet with 1 BNB is archived')
  t.equal((await watch({})).status, 201)
  const restored = await client.post(`/v1/wallets/${wallet_id}/restore`)
  t.strictSame([restored.status, ...told(restored)], [409, '- address_in_use'])
}

async function balances(t: Test, sandbox: Sandbox): Promise<void> {
  const { client } = sandbox
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '1.5', USDC: '7' })
  const read = async (query: string) => (await client.get(`${wallet.path}/balance?${query}`)).body
  const all = (await read('include=tokens')).data
  matchExactly(t, all, {
    balance: '1.5',
    currency: 'ETH',
    decimals: 18,
    usd_value: '4500.00',
    available: '1.5',
    pending_out: '0',
    contract_address: null,
    assets: [
      { currency: 'ETH' },
      { currency: 'USDC', balance: '7', decimals: 6, usd_value: '7.00', contract_address: /^0x/ },
      { currency: 'USDT', balance: '0' },
      { currency: 'WETH', balance: '0' },
    ],
  })
  const token = all.assets[1] as { contract_address: string; updated_at: string }
  t.equal((await read(`asset=${token.contract_address.toLowerCase()}`)).data.balance, '7')
  t.match(await read(`asset=usdc&at=${token.updated_at.replace('Z', '%2B00:00')}`), {
    data: {
      balance: '7',
      usd_value: null,
      available: null,
      pending_out: null,
    },
  })
  const cases: readonly [string, number, string][] = [
    ['asset=DOGE', 422, 'asset unknown_asset'],
    ['include=all', 422, 'include not_allowed'],
    ['at=2100-01-01T00:00:00Z', 422, 'at time_in_future'],
    ['at=yesterday', 422, 'at invalid_format'],
    ['at=2020-01-01T00:00:00Z', 404, '- balance_not_observed'],
  ]
  for (const [query, status, expected] of cases) {
    const answer = await client.get(`${wallet.path}/balance?${query}`)
    t.strictSame([answer.status, ...told(answer)], [status, expected], query)
  }
}
