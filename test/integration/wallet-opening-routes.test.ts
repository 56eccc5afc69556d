/** Creating wallets and watching addresses over HTTP: the contract's exact requests, and every refusal. */
import t, { type Test } from 'tap'
import { told } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { CREATE, dataOf, FOREIGN, WATCH, withWalletApi } from '../support/wallet-api.ts'
import { beat, runSigner, type WalletParts } from '../support/wallet-parts.ts'

async function countEvents({ pool }: WalletParts): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')
  return rows[0]?.n ?? -1
}

t.test("the contract's create request gives a wallet with its address", async (t: Test) => {
  const { parts, post, get } = await withWalletApi(t)
  await runSigner(t, parts)
  const answer = await post('/v1/wallets/create', CREATE)
  t.equal(answer.status, 201)
  const wallet = dataOf(answer)
  t.match(wallet, {
    wallet_id: /^wal_/,
    address: /^0x[0-9a-fA-F]{40}$/,
    type: 'hd',
    network: 'ethereum',
    label: 'Main',
    created_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    environment: 'mainnet',
    external_id: null,
    status: 'active',
  })
  const detail = dataOf(await get(`/v1/wallets/${wallet.wallet_id}`))
  t.strictSame(detail, { ...wallet, archived_at: null })

  const bare = dataOf(await post('/v1/wallets/create', { type: 'hd', network: 'polygon' }))
  t.match(bare, { network: 'polygon', label: '', environment: 'mainnet' })
  t.not(bare.address, wallet.address)
})

t.test('a request that does not wait for the address gets 202, and reads it later', async (t: Test) => {
  const { parts, post, get } = await withWalletApi(t)
  await beat(parts)
  const answer = await post('/v1/wallets/create', CREATE, { prefer: 'respond-async' })
  t.equal(answer.status, 202)
  t.equal(answer.headers['preference-applied'], 'respond-async')
  const { wallet_id } = dataOf(answer)
  t.match(dataOf(answer), { address: null, status: 'requested' })
  t.match(dataOf(await get(`/v1/wallets/${wallet_id}`)), { address: null, status: 'requested' })
  await parts.makeHdWallet(wallet_id)
  t.match(dataOf(await get(`/v1/wallets/${wallet_id}`)), { address: /^0x/, status: 'active' })
})

t.test('the same idempotency key gives the same wallet, and another body under it is refused', async (t: Test) => {
  const { parts, post } = await withWalletApi(t)
  await runSigner(t, parts)
  for (const [url, body] of [
    ['/v1/wallets/create', CREATE],
    ['/v1/wallets/watch', WATCH],
  ] as const) {
    const headers = { 'idempotency-key': `key-of ${url}`.replace(' ', ':') }
    const [first, second] = await Promise.all([post(url, body, headers), post(url, body, headers)])
    t.strictSame([first.status, second.status], [201, 201])
    t.strictSame(dataOf(first), dataOf(second))
    t.equal([first, second].filter((answer) => answer.headers['idempotency-replayed'] === 'true').length, 1)
    const other = await post(url, { ...body, label: 'other' }, headers)
    t.equal(other.status, 422)
    matchExactly(t, other.body.errors, [{ type: 'idempotency_error', code: 'idempotency_key_reused' }])
  }
})

t.test('a wallet without an available signer is refused with 503, and nothing is recorded', async (t: Test) => {
  const { parts, post } = await withWalletApi(t)
  for (const type of ['hd', 'mpc']) {
    const answer = await post('/v1/wallets/create', { ...CREATE, type })
    t.equal(answer.status, 503, type)
    matchExactly(t, answer.body.errors, [{ type: 'unavailable', code: 'signer_unavailable' }])
  }
  t.equal(await countEvents(parts), 0)
})

t.test('every malformed request is refused with its field, and nothing is recorded', async (t: Test) => {
  const { parts, post } = await withWalletApi(t)
  await beat(parts)
  const create = '/v1/wallets/create'
  const watch = '/v1/wallets/watch'
  const cases: [url: string, body: object, status: number, item: object][] = [
    [create, { ...CREATE, network: 'bitcoin' }, 422, { field: 'network', message: /ethereum, polygon, binance/ }],
    [create, { ...CREATE, type: 'watch' }, 422, { field: 'type', code: 'not_allowed' }],
    [create, { network: 'ethereum' }, 422, { field: 'type', code: 'required' }],
    [create, { ...CREATE, lable: 'x' }, 422, { field: 'lable', code: 'unknown_field', message: /label/ }],
    [create, { ...CREATE, label: 'a\u0007b' }, 422, { field: 'label', code: 'invalid_text' }],
    [create, { ...CREATE, label: 'a\nb' }, 422, { field: 'label', code: 'invalid_text' }],
    [create, { ...CREATE, label: 'a\ud800b' }, 422, { field: 'label', code: 'invalid_text' }],
    [create, { ...CREATE, label: 'x'.repeat(129) }, 422, { field: 'label' }],
    [create, { ...CREATE, label: 7 }, 422, { field: 'label', code: 'wrong_type' }],
    [create, { ...CREATE, external_id: '' }, 422, { field: 'external_id' }],
    [create, { ...CREATE, external_id: 'x'.repeat(65) }, 422, { field: 'external_id' }],
    [create, { ...CREATE, environment: 'staging' }, 422, { field: 'environment', code: 'not_allowed' }],
    [create, { ...CREATE, environment: 'testnet' }, 403, { type: 'permission_error', code: 'environment_mismatch' }],
    [
      create,
      { ...CREATE, network: 'binance' },
      422,
      { field: 'network', code: 'network_not_configured', message: /BINANCE_RPC_URLS/ },
    ],
    [watch, { ...WATCH, address: '0x12' }, 422, { field: 'address', code: 'invalid_address' }],
    [watch, { ...WATCH, address: FOREIGN.replace('C51', 'c51') }, 422, { field: 'address', code: 'bad_checksum' }],
    [watch, { ...WATCH, notifications: { large: true } }, 422, { field: 'notifications.large', code: 'unknown_field' }],
    [watch, { ...WATCH, notifications: { large_transfers: 'yes' } }, 422, { field: 'notifications.large_transfers' }],
    [watch, { ...WATCH, notifications: { large_transfer_threshold_usd: '-1' } }, 422, { code: 'invalid_amount' }],
    [watch, { ...WATCH, external_id: 'x' }, 422, { field: 'external_id', code: 'unknown_field' }],
  ]
  for (const [url, body, status, item] of cases) {
    const answer = await post(url, body)
    t.equal(answer.status, status, JSON.stringify(body))
    matchExactly(t, answer.body.errors, [item])
  }
  t.equal(
    (await post(create, { ...CREATE, type: 'x', network: 'y' })).body.errors?.length,
    2,
    'all failing fields are listed',
  )
  t.equal(await countEvents(parts), 0)
})

t.test('a label of 128 emoji is kept as it is', async (t: Test) => {
  const { parts, post } = await withWalletApi(t)
  await beat(parts)
  const label = '🏦'.repeat(128)
  const answer = await post('/v1/wallets/create', { ...CREATE, label }, { prefer: 'wait=0' })
  t.equal(answer.status, 202)
  t.equal(dataOf(answer).label, label)
})

t.test(
  "the contract's watch request answers with its five fields; a second one, or an own address, with 409",
  async (t: Test) => {
    const { parts, post, get } = await withWalletApi(t)
    await runSigner(t, parts)
    const answer = await post('/v1/wallets/watch', { ...WATCH, address: FOREIGN.toLowerCase() })
    t.equal(answer.status, 201)
    const { wallet_id, ...rest } = dataOf(answer)
    t.strictSame(rest, { address: FOREIGN, type: 'watch', network: 'ethereum', label: 'Partner' })
    t.match(dataOf(await get(`/v1/wallets/${wallet_id}`)), {
      created_at: String,
      status: 'active',
      notifications: { large_transfers: true, incoming_transactions: true, large_transfer_threshold_usd: '10000' },
    })
    const again = await post('/v1/wallets/watch', WATCH)
    t.equal(again.status, 409)
    matchExactly(t, again.body.errors, [{ type: 'conflict', code: 'watch_exists', details: { wallet_id } }])
    const own = dataOf(await post('/v1/wallets/create', CREATE))
    const refused = await post('/v1/wallets/watch', { ...WATCH, address: own.address })
    t.equal(refused.status, 409)
    matchExactly(t, refused.body.errors, [{ code: 'address_is_own_wallet', details: { wallet_id: own.wallet_id } }])
  },
)

t.test(
  'no label or id can pass for another: what cannot be seen is refused by its code point, and so is what is not NFC',
  async (t: Test) => {
    const { parts, post, get } = await withWalletApi(t)
    await beat(parts)
    const create = (fields: object) => post('/v1/wallets/create', { ...CREATE, ...fields }, { prefer: 'respond-async' })
    const fit = ['\u5bb6 \u200d \u2764\ufe0f', 'क्\u200dष', '\u{1f3f3}\ufe0f\u200d\u{1f308}', 'Zürich', '서울']
    for (const label of fit) {
      const answer = await create({ label, external_id: label })
      t.match(dataOf(answer), { label, external_id: label })
    }
    const before = await countEvents(parts)
    for (const [label, message] of [
      [
        'pay\u200bpal',
        /^label must not contain U\+200B \(character 4\)\. Control characters, line breaks and invisible/,
      ],
      ['\u{1f3e6}\u202egro', /U\+202E \(character 2\)/],
      ['a\u2066b', /U\+2066/],
      ['a\u00adb', /U\+00AD/],
      ['a\ufeff', /U\+FEFF/],
      ['a\u061cb', /U\+061C/],
      ['a\u3164', /U\+3164/],
      ['a\u{e0041}', /U\+E0041/],
      ['a\nb', /U\+000A/],
      [
        'Zu\u0308rich',
        /^label must be in Unicode normalization form C \(NFC\), and differs from it at U\+0075 \(character 2\)/,
      ],
      ['\u212bngstrom', /U\+212B \(character 1\): normalize it before you send it\.$/],
    ] as const) {
      const answer = await create({ label, external_id: label })
      t.strictSame([answer.status, ...told(answer)], [422, 'label invalid_text', 'external_id invalid_text'])
      t.match(answer.body.errors?.[0]?.message, message)
    }
    t.equal(await countEvents(parts), before)
    await parts.pool.query('UPDATE wallets SET label = $1 WHERE label = $2', ['old\u200b', 'Zürich'])
    const found = await get(`/v1/wallets?label=${encodeURIComponent('old\u200b')}`)
    matchExactly(
      t,
      found.body.data,
      { wallets: [{ label: 'old\u200b' }] },
      'a label stored earlier can be read and searched',
    )
  },
)

t.test('an external_id with a space at its start or end is refused, also where wallets are looked up', async (t) => {
  const { parts, post, get } = await withWalletApi(t)
  await beat(parts)
  const before = await countEvents(parts)
  for (const [external_id, place] of [
    [' customer-42', 'U+0020 (character 1)'],
    ['customer-42 ', 'U+0020 (character 12)'],
    ['customer-42\u00a0', 'U+00A0 (character 12)'],
    ['\u3000customer-42', 'U+3000 (character 1)'],
    [' ', 'U+0020 (character 1)'],
  ] as const) {
    const message = `external_id must not begin or end with a space, and has ${place} there: remove it before you send it.`
    const refused = { field: 'external_id', code: 'invalid_text', message }
    for (const answer of [
      await post('/v1/wallets/create', { ...CREATE, external_id }, { prefer: 'respond-async' }),
      await get(`/v1/wallets?external_id=${encodeURIComponent(external_id)}`),
    ])
      matchExactly(
        t,
        { status: answer.status, errors: answer.body.errors },
        { status: 422, errors: [refused] },
        external_id,
      )
  }
  t.equal(await countEvents(parts), before)
  const within = await post('/v1/wallets/create', { ...CREATE, external_id: 'customer 42' }, { prefer: 'wait=0' })
  t.equal(within.status, 202, 'spaces within are allowed')
  matchExactly(t, (await get('/v1/wallets?external_id=customer%2042')).body.data, {
    wallets: [{ external_id: 'customer 42' }],
  })
})
