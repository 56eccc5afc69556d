/** Mints that are refused, warned about or replayed, on a real PostgreSQL: with the reason, and without a trace. */
import t from 'tap'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { told } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ASYNC, type Data, DEAF_CONTRACT, RECIPIENT, STRANGER, withNftApi } from '../support/nft-api.ts'

const item = (n: number, more: object = {}) => ({ recipient: RECIPIENT, metadata: { name: `Token ${n}` }, ...more })
const items = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => item(n, more))

t.test('ERC1155 takes amounts up to what a contract can hold', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id } = await collection({ standard: 'ERC1155' })
  const most = (2n ** 256n - 1n).toString()
  const answer = await mint(collection_id, { amount: most })
  t.match(answer.body.data, { amount: most, token_id: '1' })
  const { state } = await calls.log.load(transactionAggregate, String(answer.body.data?.transaction_id))
  const call = COLLECTION_ABI.ERC1155.parseTransaction({ data: (state.state !== 'unknown' && state.intent.data) || '' })
  t.strictSame([call?.name, call?.args[1], call?.args[2]], ['mint', 1n, 2n ** 256n - 1n])
  for (const amount of ['0', '-1', '1.5', '01', (2n ** 256n).toString()]) {
    const refused = await mint(collection_id, { amount })
    matchExactly(t, [refused.status, told(refused)[0]], [422, /^amount (invalid_amount|amount_too_large)$/], amount)
  }
  t.strictSame(told(await mint(collection_id, { amount: 5 })), ['amount wrong_type'])
})

t.test('every invalid field of a mint is reported, and nothing is recorded', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id } = await collection()
  const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined }
  const refused: [body: object, status: number, ...told: string[]][] = [
    [{ minting_type: 'LATER' }, 422, 'minting_type not_allowed'],
    [{ recipient: `0x${'00'.repeat(20)}` }, 422, 'recipient zero_address'],
    [{ recipient: RECIPIENT.replace('C', 'c') }, 422, 'recipient bad_checksum'],
    [{ recipient: '0x1234' }, 422, 'recipient invalid_address'],
    [{ recipient: undefined, metadata: undefined }, 422, 'recipient required', 'metadata required'],
    [{ metadata: { name: 'x', image: 'javascript:alert(1)' } }, 422, 'metadata.image invalid_image_uri'],
    [
      { metadata: { name: 'x', attributes: [{ trait_type: 'Level', value: 5 }] } },
      422,
      'metadata.attributes[0].value wrong_type',
    ],
    [{ metadata: { description: 'x' } }, 422, 'metadata.name required'],
    [{ amount: '1' }, 422, 'amount not_allowed'],
    [{ items: items(1) }, 422, 'items not_allowed'],
    [{ ...batch, items: [] }, 422, 'items too_few'],
    [{ ...batch, items: items(101) }, 422, 'items too_many'],
    [{ ...batch }, 422, 'items required'],
    [{ ...batch, recipient: RECIPIENT, items: items(1) }, 422, 'recipient not_allowed'],
    [
      { ...batch, items: [item(0), item(1, { recipient: RECIPIENT.replace('C', 'c') })] },
      422,
      'items[1].recipient bad_checksum',
    ],
    [{ ...batch, items: items(1, { edition: 1 }) }, 422, 'items[0].edition not_allowed'],
    [{ ...batch, items: items(1, { token_id: '5' }) }, 422, 'items[0].token_id unknown_field'],
    [{ collection_id: 'col_x' }, 422, 'collection_id invalid_id'],
    [{ collection_id: 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11' }, 404, '- collection_not_found'],
  ]
  for (const [body, status, ...expected] of refused) {
    const answer = await mint(collection_id, body)
    t.strictSame([answer.status, ...told(answer)], [status, ...expected], JSON.stringify(body).slice(0, 120))
  }
  const foreign = await mint(collection_id, {}, { ...ASYNC, ...STRANGER })
  t.strictSame([foreign.status, ...told(foreign)], [404, '- collection_not_found'])
  t.equal((await calls.pool.query('SELECT FROM nft_mints')).rowCount, 0)
  t.equal((await mint(collection_id)).body.data?.token_id, '1', 'a refused mint uses no token id')
})

t.test('another tenant finds neither mint nor token, and an unknown token is not there', async (t) => {
  const { collection, mint, get } = await withNftApi(t)
  const { collection_id } = await collection()
  const { mint_id } = (await mint(collection_id)).body.data as Data
  const refused: [string, object, string][] = [
    [`/v1/nft/mints/${mint_id}`, STRANGER, 'mint_not_found'],
    ['/v1/nft/mints/mint_x', {}, 'mint_not_found'],
    [`/v1/nft/collections/${collection_id}/tokens`, STRANGER, 'collection_not_found'],
    [`/v1/nft/collections/${collection_id}/tokens/1`, STRANGER, 'collection_not_found'],
    [`/v1/nft/collections/${collection_id}/tokens/2`, {}, 'token_not_found'],
    [`/v1/nft/collections/${collection_id}/tokens/${'9'.repeat(78)}`, {}, 'token_not_found'],
    [`/v1/nft/collections/${collection_id}/tokens/abc`, {}, 'token_not_found'],
  ]
  for (const [url, headers, code] of refused) {
    const answer = await get(url, headers as Record<string, string>)
    t.strictSame([answer.status, ...told(answer)], [404, `- ${code}`], url)
  }
})

t.test('a mint without funds for the gas is refused with the amount needed, and not recorded', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id, wallet_id } = await collection()
  await calls.pool.query('UPDATE balances SET balance = 4000000000000000 WHERE wallet_id = $1', [wallet_id])
  const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined, items: items(100) }
  const answer = await mint(collection_id, batch)
  t.equal(answer.status, 422)
  matchExactly(t, answer.body.errors, [
    { type: 'insufficient_funds', details: { asset: 'ETH', needed: '0.1509', wallet_id, available: /^0\.00/ } },
  ])
  t.equal((await calls.pool.query('SELECT FROM nft_mints')).rowCount, 0)
})

t.test('simultaneous requests with the same key mint once', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id } = await collection()
  const key = { ...ASYNC, 'idempotency-key': 'mint-one' }
  const answers = await Promise.all(Array.from({ length: 10 }, () => mint(collection_id, {}, key)))
  t.strictSame([...new Set(answers.map(({ body }) => body.data?.mint_id))].length, 1)
  t.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 9)
  t.equal((await calls.pool.query('SELECT FROM nft_tokens')).rowCount, 1)
  const other = await mint(collection_id, { recipient: DEAF_CONTRACT }, key)
  t.strictSame([other.status, ...told(other)], [422, '- idempotency_key_reused'])
  await calls.pool.query(`UPDATE wallets SET status = 'archived'`)
  const late = await mint(collection_id, {}, key)
  t.equal(late.body.data?.mint_id, answers[0]?.body.data?.mint_id)
  const archived = await mint(collection_id)
  t.strictSame([archived.status, ...told(archived)], [409, '- wallet_archived'])
})

t.test('a recipient contract that cannot receive causes a warning, and gets its token', async (t) => {
  const { collection, mint } = await withNftApi(t)
  const { collection_id } = await collection()
  const direct = await mint(collection_id, { recipient: DEAF_CONTRACT })
  t.equal(direct.status, 202)
  matchExactly(t, direct.body.data?.warnings, [{ code: 'recipient_cannot_receive', field: 'recipient' }])
  const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined }
  const several = await mint(collection_id, { ...batch, items: [item(0), item(1, { recipient: DEAF_CONTRACT })] })
  matchExactly(t, several.body.data?.warnings, [{ field: 'items[1].recipient' }])
})
