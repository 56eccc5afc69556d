/** Collections over HTTP on a real PostgreSQL: records, responses, refusals. */

import t from 'tap'
import { DEPLOYMENT_PROXY } from '../../src/chain/deployment-proxy.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { collectionSalt, FACTORY_ADDRESS, predictCollectionAddress } from '../../src/nft/contracts/collection.ts'
import { digestOf } from '../../src/nft/metadata/cid.ts'
import { contentOf } from '../../src/nft/metadata/content.ts'
import { watchWallet } from '../../src/wallets/watch-wallet.ts'
import { mine, rowOf, settle } from '../support/calls.ts'
import { told } from '../support/client.ts'
import { KEYS } from '../support/http.ts'
import { BUT_BALANCES } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ASYNC, anotherNftApi, COLLECTION, type Data, RECIPIENT, STRANGER, withNftApi } from '../support/nft-api.ts'
import { ACME, makeWallet } from '../support/wallet-parts.ts'

const CREATE = '/v1/nft/collections/create'

t.test('a collection needs a name and a symbol: the rest is filled in, and its address is known', async (t) => {
  const { calls, post, get } = await withNftApi(t)
  const answer = await post(CREATE, COLLECTION, ASYNC)
  t.equal(answer.status, 202)
  t.equal(answer.headers['preference-applied'], 'respond-async')
  const data = answer.body.data as Data
  t.match(data, {
    ...COLLECTION,
    standard: 'ERC721',
    collection_type: 'STANDARD',
    network: 'ethereum',
    status: 'DEPLOYING',
    royalty_percentage: 0,
    royalty_recipient: null,
    max_supply: null,
    transferable: true,
    description: null,
    failure: null,
  })
  const config = {
    standard: 'ERC721',
    kind: 'STANDARD',
    ...COLLECTION,
    baseUri: '',
    contractDigest: digestOf(contentOf(COLLECTION).cid),
    owner: String(data.owner),
    royaltyRecipient: null,
    royaltyBps: 0,
    maxSupply: null,
    transferable: true,
  } as const
  const salt = collectionSalt(String(data.collection_id))
  t.equal(data.contract_address, predictCollectionAddress(config, salt, config.owner))
  t.equal(data.metadata_uri, `ipfs://${contentOf(COLLECTION).cid}`)
  t.match(await rowOf(calls, String(data.transaction_id)), {
    type: 'NFT_DEPLOY',
    to_address: FACTORY_ADDRESS,
    subject_type: 'collection',
    subject_id: data.collection_id,
    depends_on: null,
  })
  const { rows } = await calls.pool.query('SELECT * FROM wallets WHERE wallet_id = $1', [data.wallet_id])
  matchExactly(t, rows, [
    { type: 'hd', external_id: 'bursar-issuer-ethereum', label: 'NFT issuer', address: data.owner },
  ])

  const url = `/v1/nft/collections/${data.collection_id}`
  t.strictSame((await get(url)).body.data, data)
  await mine(calls, String(data.transaction_id), 0)
  t.match((await get(url)).body.data, { status: 'DEPLOYED' })
  const second = await post(CREATE, { ...COLLECTION, description: 'More' }, ASYNC)
  t.equal(second.body.data?.wallet_id, data.wallet_id, 'both collections have the same issuer wallet')
  const elsewhere = await post(CREATE, { ...COLLECTION, network: 'polygon' }, ASYNC)
  t.match(elsewhere.body.data, { network: 'polygon', status: 'DEPLOYING' })
  t.not(elsewhere.body.data?.wallet_id, data.wallet_id, 'each network has its own issuer wallet')
})

t.test('every field of a collection is kept, and royalties are exact', async (t) => {
  const { collection, get } = await withNftApi(t)
  const wanted = {
    description: 'Twelve lighthouses.\nEach of them stands.',
    standard: 'ERC1155',
    royalty_percentage: 2.55,
    metadata: { external_url: 'https://example.com/a', image: 'ipfs://bafy/image.png' },
    collection_type: 'SERIES',
    max_supply: 12,
    transferable: false,
    royalty_recipient: RECIPIENT.toLowerCase(),
  }
  const made = await collection(wanted)
  t.match(made, { ...wanted, royalty_recipient: RECIPIENT })
  t.match((await get(`/v1/nft/collections/${made.collection_id}`)).body.data, made)
  for (const royalty_percentage of [0, 0.01, 0.29, 1.15, 49.99, 50]) {
    t.match(await collection({ royalty_percentage }), { royalty_percentage })
  }
  const owned = await collection({ royalty_percentage: 1 })
  t.equal(owned.royalty_recipient, owned.owner, 'royalties go to the owner unless another recipient is named')
})

t.test('every invalid field of a collection is reported, and nothing is recorded', async (t) => {
  const { calls, post } = await withNftApi(t)
  const watch = {
    network: 'ethereum',
    environment: 'mainnet',
    chainId: 1000001,
    address: RECIPIENT,
    label: '',
    notifications: {},
  } as const
  const { id: watched } = await watchWallet(calls, watch, { metadata: ACME })
  const { walletId } = await calls.wallet()
  const refused: [body: object, status: number, ...told: string[]][] = [
    [{ standard: 'ERC20' }, 422, 'standard not_allowed'],
    [{ network: 'solana' }, 422, 'network not_allowed'],
    [{ network: 'binance' }, 422, 'network network_not_configured'],
    [{ collection_type: 'OPEN' }, 422, 'collection_type not_allowed'],
    [{ royalty_percentage: 50.01 }, 422, 'royalty_percentage invalid_royalty'],
    [{ royalty_percentage: 2.555 }, 422, 'royalty_percentage invalid_royalty'],
    [{ royalty_percentage: -1 }, 422, 'royalty_percentage invalid_royalty'],
    [{ royalty_percentage: '2.5' }, 422, 'royalty_percentage wrong_type'],
    [{ symbol: 'S'.repeat(100) }, 422, 'symbol invalid_text'],
    [{ symbol: '' }, 422, 'symbol invalid_text'],
    [{ name: '🗼'.repeat(64) }, 422, 'name too_long'],
    [{ name: undefined, symbol: undefined }, 422, 'name required', 'symbol required'],
    [{ metadata: { image: 'javascript:alert(1)' } }, 422, 'metadata.image invalid_image_uri'],
    [{ metadata: { external_url: 'ftp://example.com' } }, 422, 'metadata.external_url invalid_url'],
    [{ max_supply: 0 }, 422, 'max_supply too_small'],
    [{ max_supply: 2 ** 48 }, 422, 'max_supply too_large'],
    [{ royalty_recipient: `0x${'00'.repeat(20)}` }, 422, 'royalty_recipient zero_address'],
    [{ royalty_recipient: RECIPIENT.replace('C', 'c') }, 422, 'royalty_recipient bad_checksum'],
    [{ royalties: 2 }, 422, 'royalties unknown_field'],
    [{ wallet_id: watched }, 422, 'wallet_id watch_only'],
    [{ wallet_id: walletId, network: 'polygon' }, 422, 'network network_mismatch'],
    [{ wallet_id: 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11' }, 404, '- wallet_not_found'],
  ]
  for (const [body, status, ...items] of refused) {
    const answer = await post(CREATE, { ...COLLECTION, ...body }, ASYNC)
    t.strictSame([answer.status, ...told(answer)], [status, ...items], JSON.stringify(body))
  }
  const foreign = await post(CREATE, { ...COLLECTION, wallet_id: walletId }, { ...ASYNC, ...STRANGER })
  t.strictSame([foreign.status, ...told(foreign)], [404, '- wallet_not_found'])
  const reader = await post(CREATE, COLLECTION, { authorization: `Bearer ${KEYS.reader}` })
  t.equal(reader.status, 403)
  t.equal((await calls.pool.query('SELECT FROM nft_collections')).rowCount, 0)
  t.equal((await calls.pool.query('SELECT FROM transactions')).rowCount, 0)
  t.equal((await calls.pool.query('SELECT FROM nft_metadata')).rowCount, 0)
})

t.test('without funds, or without metadata on IPFS, no collection is created', async (t) => {
  const poor = await withNftApi(t, { issuerFunds: 10n })
  const refused = await poor.post(CREATE, COLLECTION, ASYNC)
  t.equal(refused.status, 422)
  matchExactly(t, refused.body.errors, [
    {
      type: 'insufficient_funds',
      code: 'insufficient_funds',
      details: {
        asset: 'ETH',
        available: '0.00000000000000001',
        needed: /^0\.00\d+$/,
        wallet_id: /^wal_/,
        address: /^0x/,
      },
    },
  ])
  t.equal((await poor.calls.pool.query('SELECT FROM nft_collections')).rowCount, 0)
  const unpinned = await withNftApi(t, {
    pin: async () => {
      throw new Unavailable('ipfs_unavailable', 'The IPFS node does not answer.')
    },
  })
  const failed = await unpinned.post(CREATE, COLLECTION, ASYNC)
  t.strictSame([failed.status, ...told(failed)], [503, '- ipfs_unavailable'])
  t.equal((await unpinned.calls.pool.query('SELECT FROM nft_collections')).rowCount, 0)
})

t.test('simultaneous requests make one issuer wallet, also where its name is taken', async (t) => {
  const { calls, post } = await withNftApi(t)
  const other = await anotherNftApi(t, calls)
  const headers = ASYNC
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => post(CREATE, COLLECTION, headers)),
    ...[1, 2, 3].map(() => other.send({ method: 'POST', url: CREATE, payload: COLLECTION, headers })),
  ])
  t.strictSame([...new Set(answers.map(({ status }) => status))], [202])
  t.equal(new Set(answers.map(({ body }) => body.data?.wallet_id)).size, 1)
  await makeWallet(calls, { externalId: 'bursar-issuer-polygon' })
  const taken = await post(CREATE, { ...COLLECTION, network: 'polygon' }, headers)
  t.strictSame([taken.status, ...told(taken)], [409, '- external_id_taken'])
  t.match(taken.body.message, /wallet_id/)
})

t.test('the same key gives the same collection, later and at the same time', async (t) => {
  const { calls, post } = await withNftApi(t)
  const key = { ...ASYNC, 'idempotency-key': 'one' }
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(CREATE, COLLECTION, key)))
  t.equal(new Set(answers.map(({ body }) => body.data?.collection_id)).size, 1)
  t.equal(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 7)
  const other = await post(CREATE, { ...COLLECTION, name: 'Other' }, key)
  t.strictSame([other.status, ...told(other)], [422, '- idempotency_key_reused'])
  await calls.pool.query(`UPDATE wallets SET status = 'archived'`)
  const late = await post(CREATE, COLLECTION, key)
  t.equal(late.body.data?.collection_id, answers[0]?.body.data?.collection_id, 'the first collection is returned')
  t.equal(late.headers['idempotency-replayed'], 'true')
  t.equal((await calls.pool.query('SELECT FROM nft_collections')).rowCount, 1)
})

t.test('where the factory is missing the first collection deploys it, and the next ones wait for it', async (t) => {
  const { calls, collection } = await withNftApi(t, { hasFactory: false })
  const made = await Promise.all([1, 2, 3].map((n) => collection({ name: `Number ${n}` })))
  const { rows } = await calls.pool.query(
    'SELECT transaction_id, to_address, depends_on FROM transactions ORDER BY transaction_id',
  )
  const [factory, ...deployments] = rows
  t.equal(factory.to_address, DEPLOYMENT_PROXY)
  t.strictSame(
    deployments.map(({ to_address, depends_on }) => [to_address, depends_on]),
    [1, 2, 3].map(() => [FACTORY_ADDRESS, factory.transaction_id]),
  )
  t.notOk(made.some(({ transaction_id }) => transaction_id === factory.transaction_id))
  await mine(calls, factory.transaction_id, 0, false)
  await settle(calls, factory.transaction_id)
  const again = await rowOf(calls, String((await collection()).transaction_id))
  t.not(again.depends_on, factory.transaction_id, 'a collection does not wait for a failed deployment')
})

t.test('collections are listed newest first, by page and by filter, each tenant its own', async (t) => {
  const { collection, get } = await withNftApi(t)
  const ids: unknown[] = []
  for (let n = 0; n < 5; n += 1) {
    const kind = n % 2 === 0 ? { standard: 'ERC1155', collection_type: 'SERIES' } : {}
    ids.unshift((await collection({ name: `Number ${n}`, ...kind })).collection_id)
  }
  const idsOf = async (query: string, headers = {}) => {
    const { body } = await get(`/v1/nft/collections${query}`, headers)
    const page = body.data as { collections: { collection_id: string }[]; next_cursor: string | null }
    return { ids: page.collections.map(({ collection_id }) => collection_id), next: page.next_cursor }
  }
  const first = await idsOf('?limit=3')
  const second = await idsOf(`?limit=3&cursor=${first.next}`)
  t.strictSame([...first.ids, ...second.ids], ids)
  t.equal(second.next, null)
  const even = [ids[0], ids[2], ids[4]]
  t.strictSame((await idsOf('?standard=ERC1155')).ids, even)
  t.strictSame((await idsOf('?collection_type=SERIES&network=ethereum')).ids, even)
  t.strictSame((await idsOf('?network=polygon')).ids, [])
  t.strictSame((await idsOf('', STRANGER)).ids, [])
  t.equal((await get('/v1/nft/collections?cursor=abc')).status, 422)
  for (const id of [ids[0], 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11', 'col_x']) {
    const answer = await get(`/v1/nft/collections/${id}`, STRANGER)
    t.strictSame([answer.status, ...told(answer)], [404, '- collection_not_found'])
  }
})

t.test('the status of a deployment follows its transaction, also after a reorg', async (t) => {
  const { calls, collection, get, mint } = await withNftApi(t)
  const { collection_id, transaction_id } = await collection()
  const status = async () => (await get(`/v1/nft/collections/${collection_id}`)).body.data?.status
  await mine(calls, String(transaction_id), 0, false)
  t.equal(await status(), 'DEPLOYING', 'a collection is deploying again after a reorg')
  await settle(calls, String(transaction_id))
  t.equal(await status(), 'FAILED')
  const late = await mint(collection_id)
  t.strictSame([late.status, ...told(late)], [409, '- collection_failed'])
  t.match((await get(`/v1/nft/collections/${collection_id}`)).body.data, {
    failure: { code: 'execution_reverted', message: 'why' },
  })
  const { rows, differences } = await compareLive(calls.pool, LOG_CONTENTS, { tables: BUT_BALANCES })
  t.equal(rows.nft_collections, 1)
  t.strictSame(differences, [])
})
