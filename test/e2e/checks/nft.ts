/** Collections and mints: the contract's exact requests, on the chains of the sandbox. */
import type { Test } from 'tap'
import { COLLECTION_ABI } from '../../../src/nft/contracts/artefact.ts'
import { told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { pastePage } from '../../support/paste-page.ts'

const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-f]{64}$/

/** The contract's own bodies. */
const COLLECTION = {
  name: 'My NFT Collection',
  symbol: 'MNC',
  description: 'A collection of unique digital assets',
  standard: 'ERC721',
  royalty_percentage: 2.5,
  metadata: { external_url: 'https://example.com', image: 'https://example.com/collection.png' },
}
const METADATA = {
  name: 'NFT #1',
  description: 'The first one',
  image: 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG',
  attributes: [{ trait_type: 'Background', value: 'Blue' }],
}

export async function checkNft(t: Test, sandbox: Sandbox): Promise<void> {
  const client = await sandbox.tenant('nft')
  await t.test('the rows of the contract for collections and mints hold', (t) => contractRows(t, sandbox, client))
  await t.test('a batch of either standard is minted whole, into a collection that is not deployed yet', (t) =>
    batches(t, sandbox, client),
  )
  await t.test('two hundred simultaneous mints succeed, each with its own number', (t) => crowd(t, sandbox, client))
  await t.test('the commands of docs/nft.md work when pasted', (t) => page(t, sandbox))
}

type Client = Awaited<ReturnType<Sandbox['tenant']>>

async function contractRows(t: Test, sandbox: Sandbox, client: Client): Promise<void> {
  const created = await client.post('/v1/nft/collections/create', COLLECTION, AS_LONG_AS_MAY_BE)
  t.equal(created.status, 201, created.text)
  t.match(created.body.data, {
    collection_id: /^col_/,
    contract_address: ADDRESS,
    name: 'My NFT Collection',
    symbol: 'MNC',
    standard: 'ERC721',
    network: 'ethereum',
    created_at: ISO_UTC,
    status: 'DEPLOYED',
  })
  const { collection_id, contract_address, wallet_id } = created.body.data
  const recipient = newAddress()
  const request = { collection_id, recipient, metadata: METADATA, minting_type: 'DIRECT' }
  const minted = await client.post('/v1/nft/mint', request, AS_LONG_AS_MAY_BE)
  t.equal(minted.status, 201, minted.text)
  matchExactly(t, minted.body.data, {
    token_id: '1',
    transaction_hash: HASH,
    owner: recipient,
    metadata_uri: /^ipfs:\/\/bafkrei/,
    status: 'MINTED',
    mint_id: /^mint_/,
    warnings: [],
  })
  const read = async (method: string, ...values: unknown[]) => {
    const data = COLLECTION_ABI.ERC721.encodeFunctionData(method, values)
    const answer = await sandbox.rpc('ethereum', 'eth_call', [{ to: contract_address, data }, 'latest'])
    return COLLECTION_ABI.ERC721.decodeFunctionResult(method, answer as string)[0]
  }
  t.equal(await read('ownerOf', 1n), recipient)
  t.equal(await read('tokenURI', 1n), minted.body.data.metadata_uri)
  t.equal(await read('contractURI'), created.body.data.metadata_uri)
  const published = await client.get(`/v1/nft/metadata/${minted.body.data.metadata_uri.slice('ipfs://'.length)}`)
  t.strictSame(JSON.parse(published.text), METADATA)
  t.match((await client.get(`/v1/nft/mints/${minted.body.data.mint_id}`)).body.data, {
    status: 'MINTED',
    token_id: '1',
  })
  const wallet = await client.get(`/v1/wallets/${wallet_id}`)
  t.match(wallet.body.data, { type: 'hd', external_id: 'bursar-issuer-ethereum', label: 'NFT issuer' })
}

async function batches(t: Test, { query }: Sandbox, client: Client): Promise<void> {
  for (const [standard, network] of [
    ['ERC721', 'polygon'],
    ['ERC1155', 'binance'],
  ] as const) {
    const created = await client.post(
      '/v1/nft/collections/create',
      { name: 'Batches', symbol: 'BAT', standard, network, collection_type: 'SERIES', max_supply: 101 },
      { prefer: 'respond-async' },
    )
    t.equal(created.status, 202, created.text)
    const { collection_id } = created.body.data
    const amount = standard === 'ERC1155' ? { amount: '7' } : {}
    const items = Array.from({ length: 100 }, (_, n) => ({
      recipient: newAddress(),
      metadata: { ...METADATA, name: `NFT #${n + 1}` },
      ...amount,
    }))
    const request = { collection_id, minting_type: 'BATCH', items }
    const minted = await client.post('/v1/nft/mint', request, AS_LONG_AS_MAY_BE)
    matchExactly(t, [minted.status, minted.body.data.status], [201, 'MINTED'], minted.text.slice(0, 500))
    const { tokens } = minted.body.data as { tokens: Record<string, unknown>[] }
    t.strictSame(
      tokens.map(({ token_id, owner, edition, status }) => ({ token_id, owner, edition, status })),
      items.map(({ recipient }, n) => ({ token_id: `${n + 1}`, owner: recipient, edition: n + 1, status: 'MINTED' })),
    )
    const hashes = new Set(tokens.map(({ transaction_hash }) => transaction_hash))
    t.ok(hashes.size <= 3, 'the tokens have one transaction, or few where new state is dear')
    const full = await client.post('/v1/nft/mint', { collection_id, minting_type: 'BATCH', items: items.slice(0, 2) })
    t.strictSame([full.status, ...told(full)], [409, '- max_supply_reached'])
    const rows = await query('SELECT count(*)::int AS count FROM nft_tokens WHERE collection_id = $1', [collection_id])
    t.strictSame(rows, [{ count: 100 }])
  }
}

async function crowd(t: Test, { rpc }: Sandbox, client: Client): Promise<void> {
  const body = { name: 'Crowd', symbol: 'CRW', collection_type: 'SERIES', max_supply: 200 }
  const { collection_id, contract_address } = (await client.post('/v1/nft/collections/create', body, AS_LONG_AS_MAY_BE))
    .body.data
  const recipients = Array.from({ length: 200 }, newAddress)
  const answers = await Promise.all(
    recipients.map((recipient) =>
      client.post('/v1/nft/mint', { collection_id, recipient, metadata: METADATA }, AS_LONG_AS_MAY_BE),
    ),
  )
  t.strictSame([...new Set(answers.map(({ status }) => status))], [201])
  const ids = answers.map(({ body }) => Number(body.data.token_id)).toSorted((a, b) => a - b)
  t.strictSame(
    ids,
    recipients.map((_, n) => n + 1),
  )
  const data = COLLECTION_ABI.ERC721.encodeFunctionData('remainingSupply')
  const left = await rpc('ethereum', 'eth_call', [{ to: contract_address, data }, 'latest'])
  t.equal(BigInt(left as string), 0n, 'the contract has no remaining supply')
}

async function page(t: Test, { state }: Sandbox): Promise<void> {
  const answers = await pastePage('nft.md', { URL: state.base_url, KEY: state.api_key })
  t.ok(answers.length >= 6, 'each request has an answer')
  for (const { status, data } of answers) t.equal(status, 'success', JSON.stringify(data))
  t.match(answers[0]?.data, { name: 'Lighthouses', status: 'DEPLOYED' })
  t.match(answers[1]?.data, { token_id: '1', status: 'MINTED' })
}
