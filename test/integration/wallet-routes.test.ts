/** Reading and changing wallets over HTTP: lists, archives, other tenants, and an unavailable database. */
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { serve, startApiProcess } from '../support/capabilities.ts'
import { KEYS } from '../support/http.ts'
import { NATIVE } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  CREATE,
  dataOf,
  FOREIGN,
  pageOf,
  UNKNOWN_ID,
  WATCH,
  type WalletData,
  withWalletApi,
} from '../support/wallet-api.ts'
import { runSigner } from '../support/wallet-parts.ts'

t.test('a list follows its filters, page by page, and never has wallets of other tenants', async (t: Test) => {
  const { parts, post, get, remove } = await withWalletApi(t)
  await runSigner(t, parts)
  const cold = { authorization: `Bearer ${KEYS.cold}` }
  await post('/v1/wallets/create', { ...CREATE, label: 'foreign' }, cold)
  const made: WalletData[] = []
  for (const [n, network] of ['ethereum', 'polygon', 'ethereum', 'polygon', 'ethereum'].entries()) {
    made.unshift(
      dataOf(await post('/v1/wallets/create', { type: 'hd', network, label: `w${n}`, external_id: `e${n}` })),
    )
  }
  const watched = dataOf(await post('/v1/wallets/watch', WATCH))
  const archived = made.pop()
  await remove(`/v1/wallets/${archived?.wallet_id}`)
  const labels = async (query: string) => {
    const answer = await get(`/v1/wallets?${query}`)
    t.equal(answer.status, 200, query)
    return pageOf(answer).wallets.map(({ label }) => label)
  }
  t.strictSame(await labels(''), ['Partner', 'w4', 'w3', 'w2', 'w1'])
  t.strictSame(await labels('type=watch'), ['Partner'])
  t.strictSame(await labels('network=polygon'), ['w3', 'w1'])
  t.strictSame(await labels('label=w2'), ['w2'])
  t.strictSame(await labels('external_id=e3'), ['w3'])
  t.strictSame(await labels(`address=${FOREIGN.toLowerCase()}`), ['Partner'])
  t.strictSame(await labels('status=archived'), ['w0'])
  t.strictSame(await labels('status=requested'), [])
  t.strictSame(await labels('network=polygon&label=w2'), [])

  const first = pageOf(await get('/v1/wallets?limit=2'))
  t.strictSame(
    first.wallets.map(({ wallet_id }) => wallet_id),
    [watched.wallet_id, made[0]?.wallet_id],
  )
  t.equal(first.has_more, true)
  await post('/v1/wallets/create', CREATE)
  const second = pageOf(await get(`/v1/wallets?limit=3&cursor=${first.next_cursor}`))
  t.strictSame(
    second.wallets.map(({ label }) => label),
    ['w3', 'w2', 'w1'],
    'a new wallet does not shift the next page',
  )
  t.match(second, { has_more: false, next_cursor: null })

  for (const [query = '', field] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['cursor=x', 'cursor'],
    ['address=0x1', 'address'],
    ['colour=red', 'colour'],
  ]) {
    const answer = await get(`/v1/wallets?${query}`)
    t.equal(answer.status, 422, query)
    matchExactly(t, answer.body.errors, [{ field }])
  }
})

t.test('a change is seen at once; what does not fit the wallet is refused', async (t: Test) => {
  const { parts, post, patch } = await withWalletApi(t)
  await runSigner(t, parts)
  const own = `/v1/wallets/${dataOf(await post('/v1/wallets/create', CREATE)).wallet_id}`
  const watched = `/v1/wallets/${dataOf(await post('/v1/wallets/watch', WATCH)).wallet_id}`
  t.match(dataOf(await patch(own, { label: 'Renamed 🚀' })), { label: 'Renamed 🚀' })
  const settings = { large_transfers: false, large_transfer_threshold_usd: '2500.50' }
  t.strictSame(dataOf(await patch(watched, { notifications: settings })).notifications, {
    ...settings,
    incoming_transactions: true,
  })
  const refusals: [url: string, body: object, item: object][] = [
    [own, { notifications: { large_transfers: true } }, { field: 'notifications', code: 'watch_wallets_only' }],
    [own, {}, { code: 'too_few' }],
    [own, { type: 'mpc' }, { field: 'type', code: 'unknown_field' }],
    [own, { label: null }, { field: 'label', code: 'wrong_type' }],
  ]
  for (const [url, body, item] of refusals) {
    const answer = await patch(url, body)
    t.equal(answer.status, 422, JSON.stringify(body))
    matchExactly(t, answer.body.errors, [item])
  }
})

t.test('an archived wallet is listed only on request, and restoring undoes it', async (t: Test) => {
  const { parts, post, patch, get, remove } = await withWalletApi(t)
  await runSigner(t, parts)
  const wallet = dataOf(await post('/v1/wallets/create', CREATE))
  const url = `/v1/wallets/${wallet.wallet_id}`
  await parts.pool.query(
    `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
     VALUES ($1, $2, 'acme', 1000000000000000000, 1, '0x', now())`,
    [wallet.wallet_id, NATIVE.assetId],
  )
  const kept = await remove(url)
  t.equal(kept.status, 409)
  matchExactly(t, kept.body.errors, [
    {
      code: 'wallet_has_balance',
      details: { balances: [{ currency: 'ETH', balance: '1', asset_id: NATIVE.assetId }] },
    },
  ])
  const gone = await remove(`${url}?force=true`)
  t.equal(gone.status, 200)
  t.match(dataOf(gone), {
    wallet_id: wallet.wallet_id,
    address: wallet.address,
    status: 'archived',
    archived_at: String,
  })
  t.equal((await remove(url)).status, 200, 'a second deletion changes nothing')
  t.strictSame(pageOf(await get('/v1/wallets')).wallets, [])
  const hidden = await get(url)
  t.equal(hidden.status, 404)
  matchExactly(t, hidden.body.errors, [{ type: 'not_found', code: 'wallet_archived' }])
  t.match(dataOf(await get(`${url}?include=archived`)), { status: 'archived' })
  matchExactly(t, (await patch(url, { label: 'x' })).body.errors, [{ type: 'conflict', code: 'wallet_archived' }])
  const back = await post(`${url}/restore`)
  t.equal(back.status, 200)
  t.match(dataOf(back), { status: 'active', archived_at: null, address: wallet.address })
  t.equal((await get(url)).status, 200)
})

t.test('a wallet of another tenant looks exactly like one that does not exist', async (t: Test) => {
  const { parts, post, patch, get, remove } = await withWalletApi(t)
  await runSigner(t, parts)
  const cold = { authorization: `Bearer ${KEYS.cold}`, 'x-request-id': 'one' }
  const { wallet_id } = dataOf(await post('/v1/wallets/create', CREATE))
  for (const id of [wallet_id, UNKNOWN_ID, 'wal_x']) {
    const answers = [
      await get(`/v1/wallets/${id}`, undefined, cold),
      await patch(`/v1/wallets/${id}`, { label: 'x' }, cold),
      await remove(`/v1/wallets/${id}`, undefined, cold),
      await post(`/v1/wallets/${id}/restore`, undefined, cold),
    ]
    for (const { status, body } of answers) {
      t.equal(status, 404)
      t.strictSame(body.errors, [{ type: 'not_found', message: 'No such wallet.', code: 'wallet_not_found' }])
    }
  }
  const reader = { authorization: `Bearer ${KEYS.reader}` }
  matchExactly(t, (await get(`/v1/wallets/${wallet_id}`, undefined, reader)).body.errors, [
    { code: 'environment_mismatch' },
  ])
  t.strictSame(pageOf(await get('/v1/wallets', undefined, reader)).wallets, [], 'another environment is not listed')
  t.equal((await patch(`/v1/wallets/${wallet_id}`, { label: 'x' }, reader)).status, 403)
})

t.test('a database that does not answer is reported as 503 by every read', async (t: Test) => {
  const { send } = await serve(startApiProcess(t, 'postgresql://bursar@127.0.0.1:1/bursar'), ['wallets'])
  for (const url of ['/v1/wallets', `/v1/wallets/${UNKNOWN_ID}`]) {
    const answer = await send({ method: 'GET', url })
    t.equal(answer.status, 503, url)
    matchExactly(t, answer.body.errors, [{ type: 'unavailable', code: 'database_unavailable' }])
  }
})

t.test('a read that the database cancels is reported as 503 and works again afterwards', async (t: Test) => {
  const { parts, get } = await withWalletApi(t)
  const client = await parts.pool.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE wallets')
  const reading = get('/v1/wallets')
  const breakOff = async () => {
    // Outside the transaction, which would always see the same activity.
    const { rowCount } = await parts.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rowCount ?? 0
  }
  while ((await breakOff()) === 0) await pause(10)
  t.equal((await reading).status, 503)
  await client.query('ROLLBACK')
  client.release()
  t.equal((await get('/v1/wallets')).status, 200)
})
