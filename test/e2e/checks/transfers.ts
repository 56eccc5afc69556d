/** Transfers beyond the contract's rows: previews, notes, waiting, lists, and changes while pending. */
import type { Test } from 'tap'
import { type Client, told } from '../../support/client.ts'
import { newAddress, type Sandbox, sendTransfer, type Transaction, type Wallet } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { pastePage } from '../../support/paste-page.ts'
import { eventually } from '../../support/sandbox-eventually.ts'

export async function checkTransfers(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('transfers')
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '10', USDC: '5' })
  await t.test('a preview returns the expected outcome and changes nothing', (t) => preview(t, sandbox, client, wallet))
  await t.test('the answer to a transfer equals a later read', (t) => notes(t, client, wallet))
  await t.test('the command of docs/transfer-batches.md works when pasted, with the key of one batch', (t) =>
    batch(t, sandbox),
  )
  await t.test('a request waits as long as its Prefer header allows', (t) => preferences(t, client, wallet))
  await t.test('transactions are listed by filters, page by page', (t) => list(t, client, wallet))
  await t.test('a pending transaction can be sped up or cancelled, and one of its versions is mined', (t) =>
    changes(t, sandbox, client),
  )
}

async function preview(t: Test, { query }: Sandbox, client: Client, wallet: Wallet): Promise<void> {
  const recorded = async () => (await query(`SELECT count(*)::int AS n FROM events WHERE type LIKE 'Transfer%'`))[0]?.n
  const before = await recorded()
  const ask = async (fields: object) => {
    const body = { to: newAddress(), amount: '0.5', asset: 'ETH', gas_priority: 'medium', ...fields }
    return (await client.post(`${wallet.path}/transfer/preview`, body)).body.data
  }
  const level = {
    native: /^0\.0/,
    usd: /^\d+\.\d\d$/,
    max_fee_per_gas_wei: /^\d+$/,
    max_priority_fee_per_gas_wei: /^\d+$/,
  }
  const { warnings, ...toNew } = await ask({})
  t.match(toNew, {
    would_succeed: true,
    reason: null,
    gas_limit: /^(21000|20\d{4})$/,
    fee: { currency: 'ETH', low: level, medium: level, high: level },
    balance_after: /^9\.49/,
  })
  t.match(warnings[0], { code: 'first_transfer_to_recipient', message: String })
  // Only under rules that price the creation of an account.
  t.equal(warnings.length, toNew.gas_limit === '21000' ? 1 : 2)
  t.match(await ask({ amount: '10' }), { would_succeed: false, reason: 'insufficient_funds', balance_after: null })
  t.match(await ask({ asset: 'USDC', amount: '5' }), {
    would_succeed: true,
    balance_after: '0',
    gas_limit: /^\d{5,6}$/,
  })
  matchExactly(t, await ask({ to: wallet.address }), { warnings: [{}, { code: 'recipient_is_sender' }] })
  const { data } = (await client.get('/v1/assets?network=ethereum')).body
  const token = data.assets.find(({ symbol }: { symbol: string }) => symbol === 'USDC').contract_address
  // The node is asked for a second at most: on a slow machine the warning is left out.
  const toContract = await eventually(async () => {
    const told = await ask({ to: token })
    return told.warnings.length === 2 && told
  })
  matchExactly(t, toContract, { would_succeed: false, warnings: [{ code: 'recipient_is_contract' }, {}] })
  t.equal(await recorded(), before)
}

async function notes(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const fields = {
    reference_id: 'invoice/42',
    memo: 'März 🧾',
    valid_until: '2099-12-31T23:59:59.999Z',
    gas_priority: 'low',
  }
  const to = newAddress()
  const path = await sendTransfer(client, wallet, {
    to: to.toLowerCase(),
    amount: '0.000000000000000001',
    asset: 'eth',
    ...fields,
  })
  t.match((await client.get(path)).body.data, {
    ...fields,
    wallet_id: wallet.walletId,
    network: 'ethereum',
    type: 'TRANSFER',
    from: wallet.address,
    to,
    amount: '0.000000000000000001',
    asset: 'ETH',
    fee: { currency: 'ETH', estimated: /^0\.0/ },
    required_confirmations: 2,
    failure: null,
  })
  const east = await sendTransfer(client, wallet, {
    to,
    amount: '1',
    asset: 'USDC',
    valid_until: '2099-06-01T02:00:00+02:00',
  })
  t.equal((await client.get(east)).body.data.valid_until, '2099-06-01T00:00:00.000Z')
}

async function batch(t: Test, sandbox: Sandbox): Promise<void> {
  const { client, state } = sandbox
  const wallet = await sandbox.wallet(client, 'ethereum', { ETH: '1', USDC: '5' })
  const env = { URL: state.base_url, KEY: state.api_key, WALLET: wallet.walletId }
  const [first, again] = [await pastePage('transfer-batches.md', env), await pastePage('transfer-batches.md', env)]
  const idsOf = ([answer]: typeof first) =>
    ((answer?.data.transactions ?? []) as Transaction[]).map(({ transaction_id: id }) => id)
  matchExactly(t, first, [
    {
      status: 'success',
      data: {
        transactions: [
          { asset: 'ETH', amount: '0.01' },
          { asset: 'USDC', amount: '2.5' },
        ],
      },
    },
  ])
  t.strictSame(idsOf(again), idsOf(first), 'the second time repeats the first')
  const paths = idsOf(first).map((id) => `${wallet.path}/transactions/${id}`)
  const ends: Transaction[] = await Promise.all(paths.map((path) => client.settle(path)))
  t.strictSame(
    ends.map(({ status, nonce }) => [status, nonce]),
    [
      ['confirmed', 0],
      ['confirmed', 1],
    ],
    'the nonces follow the order of the items',
  )
}

async function preferences(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const body = { to: newAddress(), amount: '0.001', asset: 'ETH' }
  const send = (prefer: string) => client.post(`${wallet.path}/transfer`, body, { prefer })
  const later = await send('respond-async')
  t.match(later.body.data, { status: 'pending', state: 'requested', hash: null })
  t.equal(later.headers['preference-applied'], 'respond-async')
  const cases = { 'wait=30': 'wait=30', 'wait=3600': 'wait=60', 'respond-async, wait=20': 'respond-async, wait=20' }
  for (const [prefer, applied] of Object.entries(cases)) {
    const answer = await send(prefer)
    t.match(answer.body.data.hash, /^0x[0-9a-f]{64}$/, prefer)
    t.equal(answer.headers['preference-applied'], applied)
  }
  for (const prefer of ['wait=soon', 'return=minimal', '', ';=,']) {
    const answer = await send(prefer)
    t.strictSame([answer.status, answer.headers['preference-applied']], [202, undefined], `${prefer} is ignored`)
  }
  const wallets = await client.post(
    '/v1/wallets/create',
    { type: 'hd', network: 'polygon' },
    { prefer: 'respond-async' },
  )
  matchExactly(t, [wallets.status, wallets.body.data], [202, { address: null, status: 'requested' }])
}

async function list(t: Test, client: Client, wallet: Wallet): Promise<void> {
  const read = async (query: string) => (await client.get(`${wallet.path}/transactions?${query}`)).body.data
  // A block that is being recorded has its time already, and is not readable yet.
  const all = await eventually(async () => {
    const { transactions } = (await read('limit=100')) as { transactions: Transaction[] }
    return transactions.every(({ status }) => status !== 'pending') && transactions
  })
  const ids = all.map(({ transaction_id }) => transaction_id)
  t.strictSame(ids, [...ids].sort().reverse(), 'the list is newest first')
  t.equal((await read('reference_id=invoice/42')).transactions.length, 1)
  t.equal((await read('asset=usdc&type=TRANSFER')).transactions.length, 1)
  t.equal((await read('status=failed')).transactions.length, 0)
  const seen: string[] = []
  for (let query = 'limit=4'; ; ) {
    const page = await read(query)
    seen.push(...page.transactions.map((one: Transaction) => one.transaction_id))
    if (!page.has_more) break
    await sendTransfer(client, wallet, { to: newAddress(), amount: '0.001', asset: 'ETH' })
    query = `limit=4&cursor=${page.next_cursor}`
  }
  t.strictSame(seen, ids, 'new transactions do not shift the pages')
  const newest = new Date(Math.max(...all.map(({ updated_at }) => Date.parse(updated_at)))).toISOString()
  const past = await read(`at=${newest}&limit=100`)
  const then = past.transactions as Transaction[]
  t.equal(past.as_of_event, null, 'no position of the feed belongs to a list of the past')
  t.match((await read('limit=1')).as_of_event, /^evt_/)
  const states = (of: Transaction[]) => of.map(({ transaction_id, state }) => [transaction_id, state])
  t.strictSame(states(then), states(all), 'the list at that time has the states of that time')
  t.equal((await read(`at=${newest}&status=failed`)).transactions.length, 0)
  const tooLate = await client.get(`${wallet.path}/transactions?at=2100-01-01T00:00:00Z`)
  t.strictSame([tooLate.status, ...told(tooLate)], [422, 'at time_in_future'])
}

async function changes(t: Test, sandbox: Sandbox, client: Client): Promise<void> {
  const wallet = await sandbox.wallet(client, 'binance', { BNB: '1' })
  const ask = (path: string, what: string, body?: object, key?: string) =>
    client.post(`${path}/${what}`, body, key === undefined ? {} : { 'idempotency-key': key })
  const releaseBlocks = sandbox.holdBlocks(t)
  const send = () =>
    sendTransfer(client, wallet, { to: newAddress(), amount: '0.1', asset: 'BNB', gas_priority: 'low' })
  const [faster, cancelled, left] = [await send(), await send(), await send()]
  await client.until<Transaction>(left, ({ state }) => state === 'submitted')

  t.equal((await ask(faster, 'speed-up', { gas_priority: 'high' }, 'once')).status, 202)
  await client.until<Transaction>(faster, ({ hashes, state }) => hashes.length === 2 && state === 'submitted')
  const repeated = await ask(faster, 'speed-up', { gas_priority: 'high' }, 'once')
  t.strictSame([repeated.status, repeated.headers['idempotency-replayed']], [202, 'true'])
  const reused = await ask(faster, 'speed-up', { gas_priority: 'low' }, 'once')
  t.strictSame([reused.status, ...told(reused)], [422, '- idempotency_key_reused'])

  t.match((await ask(cancelled, 'cancel')).body.data, { status: 'pending' }, 'the cancellation is not mined yet')
  await client.until<Transaction>(cancelled, ({ hashes, state }) => hashes.length === 2 && state === 'submitted')
  const late = await ask(cancelled, 'speed-up')
  t.strictSame([late.status, ...told(late)], [409, '- cancellation_requested'])
  const strange = await ask(left, 'cancel', { gas_priority: 'high' })
  t.strictSame([strange.status, ...told(strange)], [422, 'gas_priority unknown_field'])

  releaseBlocks()
  const settled = (one: Transaction) => ['confirmed', 'cancelled'].includes(one.status) && one.confirmations >= 2
  const ends = await Promise.all([faster, cancelled, left].map((path) => client.until(path, settled)))
  matchExactly(t, ends, [
    { status: 'confirmed', nonce: 0 },
    { status: 'cancelled', nonce: 1 },
    { status: 'confirmed', nonce: 2 },
  ])
  t.strictSame(
    ends.map(({ hashes }) => hashes.length),
    [2, 2, 1],
    'a repeated request sends no further version',
  )
  for (const { hash, hashes } of ends) t.equal(hash, hashes.at(-1))
  for (const what of ['cancel', 'speed-up']) {
    const over = await ask(left, what)
    t.strictSame([over.status, ...told(over)], [409, '- already_mined'])
  }
  t.equal((await ask(cancelled, 'cancel')).status, 202, 'a cancelled transaction can be cancelled again')
}
