/** Mints over HTTP on a real PostgreSQL: numbers, outcomes, and the fold of the log. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { mine, NOW, rowOf, settle } from '../support/calls.ts'
import { told } from '../support/client.ts'
import type { Answer } from '../support/http.ts'
import { BUT_BALANCES } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ASYNC, anotherNftApi, type Data, METADATA, RECIPIENT, STRANGER, withNftApi } from '../support/nft-api.ts'
import { ACME } from '../support/wallet-parts.ts'

type Tokens = readonly Data[]
const tokensOf = (answer: Answer) => (answer.body.data?.tokens ?? []) as Tokens
const item = (n: number, more: object = {}) => ({ recipient: RECIPIENT, metadata: { name: `Token ${n}` }, ...more })
const items = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => item(n, more))

t.test('a mint gets its number before anything is sent, and shows its outcome', async (t) => {
  const { calls, collection, mint, get } = await withNftApi(t)
  const { collection_id, contract_address, transaction_id: deployment } = await collection()
  const answer = await mint(collection_id)
  t.equal(answer.status, 202)
  const data = answer.body.data as Data
  matchExactly(t, data, {
    mint_id: /^mint_/,
    collection_id,
    minting_type: 'DIRECT',
    token_id: '1',
    owner: RECIPIENT,
    amount: '1',
    edition: null,
    status: 'PENDING',
    transaction_hash: null,
    metadata_uri: /^ipfs:\/\/bafkrei/,
    failure: null,
    warnings: [],
  })
  const { warnings: _, ...recorded } = data
  t.strictSame((await get(`/v1/nft/mints/${data.mint_id}`)).body.data, recorded, 'a read returns the same')
  const transactionId = String(data.transaction_id)
  const { state } = await calls.log.load(transactionAggregate, transactionId)
  t.match(await rowOf(calls, transactionId), {
    type: 'NFT_MINT',
    to_address: contract_address,
    depends_on: deployment,
    subject_type: 'mint',
    subject_id: data.mint_id,
  })
  const call = COLLECTION_ABI.ERC721.parseTransaction({ data: (state.state !== 'unknown' && state.intent.data) || '' })
  t.strictSame([call?.name, call?.args[0], call?.args[1]], ['mint', RECIPIENT, 1n])

  const read = async () => (await get(`/v1/nft/mints/${data.mint_id}`)).body.data
  const status = async () => (await read())?.status
  await mine(calls, transactionId, 0)
  t.equal(await status(), 'MINTED')
  await calls.log.execute(
    transactionAggregate,
    transactionId,
    { type: 'RecordReorg', head: 200, now: NOW },
    { metadata: ACME },
  )
  t.equal(await status(), 'PENDING', 'the mint is pending again after a reorg')
  const token = await get(`/v1/nft/collections/${collection_id}/tokens/1`)
  t.match(token.body.data, {
    token_id: '1',
    status: 'PENDING',
    mint_id: data.mint_id,
    metadata: METADATA,
    owner: RECIPIENT,
  })
})

t.test(
  'two hundred mints at once get two hundred numbers without a gap, in the order in which they are signed',
  async (t) => {
    const { calls, collection, mint } = await withNftApi(t)
    const { collection_id } = await collection({ collection_type: 'SERIES' })
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => mint(collection_id, { metadata: { name: `${n}` } })),
    )
    t.strictSame([...new Set(answers.map(({ status }) => status))], [202])
    const numbers = answers.map(({ body }) => Number(body.data?.token_id)).toSorted((a, b) => a - b)
    t.strictSame(
      numbers,
      Array.from({ length: 200 }, (_, n) => n + 1),
    )
    const { rows } = await calls.pool.query(
      'SELECT token_id FROM nft_tokens WHERE collection_id = $1 ORDER BY transaction_id',
      [collection_id],
    )
    t.strictSame(
      rows.map(({ token_id }) => Number(token_id)),
      numbers,
      'token ids follow the signing order',
    )
  },
)

const LAZY = { minting_type: 'LAZY' }

t.test('a mint of any kind is answered as a read returns it', async (t) => {
  const { collection, mint, get } = await withNftApi(t)
  for (const kind of [{}, { standard: 'ERC1155' }, { collection_type: 'SERIES' }, { collection_type: 'DYNAMIC' }]) {
    const { collection_id } = await collection(kind)
    const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined, items: items(3) }
    for (const body of [{}, batch, ...('collection_type' in kind ? [] : [LAZY])]) {
      // A signer may be quicker than an answer that does not wait: with its voucher the mint does not change any more.
      const answer = await mint(collection_id, body, body === LAZY ? { prefer: 'wait=10' } : ASYNC)
      t.equal(answer.status, body === LAZY ? 201 : 202)
      const { warnings: _, ...data } = answer.body.data as Data
      t.strictSame((await get(`/v1/nft/mints/${data.mint_id}`)).body.data, data, JSON.stringify({ ...kind, ...body }))
    }
  }
})

t.test('a confirmed collection takes mints of its tenant, and of no other', async (t) => {
  const { calls, collection, mint, get } = await withNftApi(t)
  const { collection_id, transaction_id: deployment } = await collection()
  await mine(calls, String(deployment), 0)
  await settle(calls, String(deployment))
  for (const number of ['1', '2']) {
    const { body } = await mint(collection_id)
    t.equal(body.data?.token_id, number)
    const { warnings: _, ...data } = body.data as Data
    t.strictSame((await get(`/v1/nft/mints/${data.mint_id}`)).body.data, data)
  }
  const foreign = await mint(collection_id, {}, { ...ASYNC, ...STRANGER })
  t.strictSame([foreign.status, ...told(foreign)], [404, '- collection_not_found'])
})

t.test('processes that share nothing but the database give no number twice', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id } = await collection()
  const other = await anotherNftApi(t, calls)
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      n % 2 === 0
        ? mint(collection_id)
        : other.send({
            method: 'POST',
            url: '/v1/nft/mint',
            headers: ASYNC,
            payload: { collection_id, recipient: RECIPIENT, metadata: METADATA },
          }),
    ),
  )
  t.strictSame([...new Set(answers.map(({ status }) => status))], [202])
  const numbers = answers.map(({ body }) => Number(body.data?.token_id)).toSorted((a, b) => a - b)
  t.strictSame(
    numbers,
    Array.from({ length: 60 }, (_, n) => n + 1),
  )
})

t.test('a batch is one transaction where gas allows, otherwise each token has its own outcome', async (t) => {
  const { calls, collection, mint, get } = await withNftApi(t, { maxTransactionGas: 400_000n })
  const { collection_id } = await collection({ collection_type: 'SERIES' })
  const answer = await mint(collection_id, {
    minting_type: 'BATCH',
    recipient: undefined,
    metadata: undefined,
    items: items(10),
  })
  t.equal(answer.status, 202)
  const transactions = [...new Set(tokensOf(answer).map(({ transaction_id }) => String(transaction_id)))]
  t.equal(transactions.length, 3, 'ten tokens need three transactions')
  t.strictSame(
    tokensOf(answer).map(({ token_id, edition }) => [token_id, edition]),
    items(10).map((_, n) => [`${n + 1}`, n + 1]),
  )
  t.match(answer.body.data, { token_id: '1', status: 'PENDING', minting_type: 'BATCH' })
  const [first = '', second = '', third = ''] = transactions
  await mine(calls, first, 0)
  await mine(calls, second, 1, false)
  await settle(calls, second)
  const read = async () => get(`/v1/nft/mints/${answer.body.data?.mint_id}`)
  t.equal((await read()).body.data?.status, 'PENDING')
  await mine(calls, third, 2)
  const told = await read()
  t.equal(told.body.data?.status, 'FAILED')
  t.strictSame(
    tokensOf(told).map(({ status, edition }) => [status, edition]),
    [
      ...[1, 2, 3, 4].map((edition) => ['MINTED', edition]),
      ...[1, 2, 3, 4].map(() => ['FAILED', null]),
      ...[5, 6].map((edition) => ['MINTED', edition]),
    ],
  )
  const page = (await get(`/v1/nft/collections/${collection_id}/tokens?limit=4`)).body.data as {
    tokens: Tokens
    next_cursor: string
  }
  t.strictSame(
    page.tokens.map(({ token_id, edition }) => [token_id, edition]),
    [
      ['10', 6],
      ['9', 5],
      ['8', null],
      ['7', null],
    ],
  )
  const rest = await get(`/v1/nft/collections/${collection_id}/tokens?limit=100&cursor=${page.next_cursor}`)
  t.strictSame(
    tokensOf(rest).map(({ token_id }) => token_id),
    ['6', '5', '4', '3', '2', '1'],
  )
  t.match((await get(`/v1/nft/collections/${collection_id}/tokens/10`)).body.data, { edition: 6, status: 'MINTED' })
})

t.test('a full collection refuses mints; pending ones count, failed ones do not', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  const { collection_id } = await collection({ max_supply: 3, collection_type: 'SERIES' })
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => mint(collection_id)))
  t.strictSame(answers.map(({ status }) => status).toSorted(), [202, 202, 202, 409, 409])
  const full = await mint(collection_id)
  matchExactly(t, full.body.errors, [
    { type: 'conflict', code: 'max_supply_reached', details: { max_supply: 3, minted: 3, remaining: 0 } },
  ])
  const failing = String(answers.find(({ status }) => status === 202)?.body.data?.transaction_id)
  await calls.log.execute(
    transactionAggregate,
    failing,
    { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW },
    { metadata: ACME },
  )
  const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined }
  t.strictSame(told(await mint(collection_id, { ...batch, items: items(2) })), ['- max_supply_reached'])
  const next = await mint(collection_id)
  matchExactly(
    t,
    [next.status, next.body.data?.token_id, next.body.data?.edition],
    [202, '4', 3],
    'a token id is not used again',
  )
  t.equal((await mint(collection_id)).status, 409)
})

t.test('a mint that names an edition gets that one or none', async (t) => {
  const { collection, mint } = await withNftApi(t)
  const { collection_id } = await collection({ collection_type: 'SERIES', standard: 'ERC1155' })
  const batch = (...wanted: (number | undefined)[]) =>
    mint(collection_id, {
      minting_type: 'BATCH',
      recipient: undefined,
      metadata: undefined,
      items: wanted.map((edition, n) => item(n, edition === undefined ? {} : { edition })),
    })
  t.strictSame(
    tokensOf(await batch(1, undefined, 3)).map(({ edition }) => edition),
    [1, 2, 3],
  )
  for (const wrong of [[3], [5], [4, 6]]) {
    const answer = await batch(...wrong)
    t.strictSame([answer.status, ...told(answer)], [409, '- edition_out_of_sequence'], String(wrong))
  }
  t.equal((await batch(4)).status, 202)
})

t.test('collections, mints and tokens fold from the log to their present rows', async (t) => {
  const { calls, collection, mint } = await withNftApi(t)
  for (const standard of ['ERC721', 'ERC1155']) {
    const { collection_id, transaction_id } = await collection({ standard, description: 'é 🗼', max_supply: 50 })
    const direct = await mint(collection_id)
    const batch = { minting_type: 'BATCH', recipient: undefined, metadata: undefined, items: [...items(3), item(0)] }
    await mint(collection_id, batch)
    const nonce = standard === 'ERC721' ? 0 : 2
    await mine(calls, String(transaction_id), nonce)
    await mine(calls, String(direct.body.data?.transaction_id), nonce + 1)
  }
  const { rows, differences } = await compareLive(calls.pool, LOG_CONTENTS, { tables: BUT_BALANCES })
  t.strictSame([rows.nft_collections, rows.nft_mints, rows.nft_tokens], [2, 4, 10])
  t.strictSame(differences, [])
})
