/** The rules of collections and mints: refusals, distribution over transactions, and views. */

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { upcast } from '../../src/event-log/aggregate.ts'
import type { AnyAggregate } from '../../src/event-log/fold.ts'
import { collectionAggregate } from '../../src/nft/collections/aggregate.ts'
import { collectionDecider } from '../../src/nft/collections/decider.ts'
import type { CollectionEvent } from '../../src/nft/collections/events.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { mintGas } from '../../src/nft/contracts/gas.ts'
import { contentOf } from '../../src/nft/metadata/content.ts'
import { outcomeOf } from '../../src/nft/outcome.ts'
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import { mintDecider } from '../../src/nft/tokens/mint-decider.ts'
import type { MintingType, MintRecorded } from '../../src/nft/tokens/mint-events.ts'
import { toMint, toTokens } from '../../src/nft/tokens/mint-view.ts'
import { planTransactions } from '../../src/nft/tokens/plan-transactions.ts'
import { type AddressedItem, type RequestedMint, readItems } from '../../src/nft/tokens/read-items.ts'
import { tokenAggregate } from '../../src/nft/tokens/token-aggregate.ts'
import type { TokenRow } from '../../src/nft/tokens/token-rows.ts'
import { OSAKA } from '../support/gas.ts'
import { givenOf } from '../support/given.ts'

const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const METADATA = { name: 'Lighthouse' }

function golden(type: string): { schema_version: number; data: unknown } {
  return JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
}
const collectionRequested = (() => {
  const { schema_version, data } = golden('CollectionRequested')
  return upcast<CollectionEvent>(collectionAggregate.schemas, 'CollectionRequested', schema_version, data)
})()
const mintRecorded = (() => {
  const { schema_version, data } = golden('MintRecorded')
  return upcast<MintRecorded>(mintAggregate.schemas, 'MintRecorded', schema_version, data)
})()

t.test('every event that was ever written is still read, and gives its rows', async (t) => {
  for (const { schemas } of [collectionAggregate, mintAggregate, tokenAggregate] as unknown as AnyAggregate[])
    for (const [type, { version }] of Object.entries<{ version: number }>(schemas))
      for (let n = 1; n <= version; n += 1)
        t.ok(readFileSync(new URL(`../golden/events/${type}.v${n}.json`, import.meta.url)).length > 0)
  const context = { id: 'col_1', tenantId: 'acme', version: 1, recordedAt: '2026-11-21T12:00:00.000Z' }
  const collection = collectionAggregate.evolve(collectionAggregate.initialState, collectionRequested)
  const { rows, holds } = collectionAggregate.project(collectionAggregate.initialState, collection, context)
  t.strictSame(holds, [])
  t.strictSame(
    rows.map(({ table }) => table),
    ['nft_collections', 'nft_metadata', 'nft_pins'],
  )
  t.match(rows[0]?.row, {
    collection_id: 'col_1',
    max_supply: 12,
    royalty_bps: 250,
    transaction_id: 'tx_1',
    version: 1,
  })
  t.equal(rows[1]?.row.cid, collectionRequested.data.cid, 'the row has the CID of the metadata')
  const { text } = contentOf(collectionRequested.data.metadata)
  t.strictSame(rows[1], { table: 'nft_metadata', row: { cid: collectionRequested.data.cid, content: text } })

  const mint = mintAggregate.evolve(mintAggregate.initialState, mintRecorded)
  const written = mintAggregate.project(mintAggregate.initialState, mint, { ...context, id: 'mint_1' }).rows
  t.strictSame(
    written.map(({ table }) => table),
    ['nft_mints', 'nft_tokens', 'nft_tokens', 'nft_metadata', 'nft_pins', 'nft_metadata', 'nft_pins'],
  )
  t.match(written[2]?.row, {
    token_id: '8',
    recipient: null,
    transaction_id: null,
    mint_id: 'mint_1',
    collection_id: 'col_1',
  })
})

t.test('a collection is opened once, and never as its contract would refuse it', async (t) => {
  const given = givenOf(collectionDecider)
  const request = (changes: object = {}) =>
    ({ type: 'RequestCollection', collection: { ...collectionRequested.data, ...changes } }) as const
  const made = (changes: object = {}) => ({ ...collectionRequested, data: { ...collectionRequested.data, ...changes } })
  for (const changes of [
    {},
    { royaltyBps: 5_000 },
    { name: '🗼'.repeat(63) }, // 252 bytes
    { royaltyRecipient: null, royaltyBps: 0 },
  ])
    given().when(request(changes)).expect(t, made(changes))
  const name = '🗼'.repeat(64) // 256 bytes
  given().when(request({ name })).fails(t, { field: 'name', code: 'too_long' })
  given()
    .when(request({ symbol: 'x'.repeat(256) }))
    .fails(t, { field: 'symbol', code: 'too_long' })
  for (const royaltyBps of [5_001, -1, 2.5])
    given().when(request({ royaltyBps })).fails(t, { field: 'royalty_percentage', code: 'invalid_royalty' })
  given()
    .when(request({ royaltyRecipient: null }))
    .fails(t, { field: 'royalty_recipient', code: 'required' })
  given(collectionRequested).when(request()).fails(t, { type: 'conflict', code: 'collection_exists' })
  givenOf(mintDecider)(mintRecorded)
    .when({ type: 'RecordMint', mint: mintRecorded.data })
    .fails(t, { type: 'conflict', code: 'mint_exists' })
})

t.test('every invalid field of a mint is refused by its name', async (t) => {
  const ERC721 = { standard: 'ERC721', collectionType: 'STANDARD' } as const
  const ERC1155 = { standard: 'ERC1155', collectionType: 'SERIES' } as const
  const direct: RequestedMint = { mintingType: 'DIRECT', recipient: RECIPIENT, metadata: METADATA }
  const batch = (...items: object[]): RequestedMint => ({ mintingType: 'BATCH', items })
  const item = { recipient: RECIPIENT, metadata: METADATA }
  const told = (request: RequestedMint, collection: typeof ERC721 | typeof ERC1155) => {
    try {
      readItems(request, collection)
      return []
    } catch (error) {
      return (error as { items: { field: string; code: string }[] }).items.map(({ field, code }) => `${field} ${code}`)
    }
  }
  t.strictSame(told(direct, ERC721), [])
  t.strictSame(told({ mintingType: 'DIRECT' }, ERC721), ['recipient required', 'metadata required'])
  t.strictSame(told({ ...direct, amount: '1' }, ERC721), ['amount not_allowed'])
  t.strictSame(told({ ...direct, items: [item] }, ERC721), ['items not_allowed'])
  t.strictSame(told({ ...direct, recipient: `0x${'00'.repeat(20)}` }, ERC721), ['recipient zero_address'])
  t.strictSame(told({ ...direct, recipient: RECIPIENT.replace('C', 'c') }, ERC721), ['recipient bad_checksum'])
  t.strictSame(told({ ...direct, amount: (2n ** 256n - 1n).toString() }, ERC1155), [])
  t.strictSame(told({ ...direct, amount: (2n ** 256n).toString() }, ERC1155), ['amount amount_too_large'])
  t.strictSame(told({ mintingType: 'BATCH' }, ERC721), ['items required'])
  t.strictSame(told({ ...batch(item), recipient: RECIPIENT, metadata: METADATA, amount: '1' }, ERC1155), [
    'recipient not_allowed',
    'metadata not_allowed',
    'amount not_allowed',
  ])
  const wrong = { ...item, amount: '2', edition: 1, recipient: `0x${'00'.repeat(20)}` }
  t.strictSame(told(batch(item, wrong), ERC721), [
    'items[1].recipient zero_address',
    'items[1].amount not_allowed',
    'items[1].edition not_allowed',
  ])
  t.strictSame(told(batch({ ...item, edition: 1, amount: '2' }), ERC1155), [])
  t.equal(readItems({ ...direct, recipient: RECIPIENT.toLowerCase() }, ERC721)[0]?.recipient, RECIPIENT)
})

t.test('tokens are spread over as few transactions as their gas allows, each once and in order', async () => {
  const item: AddressedItem = {
    recipient: RECIPIENT,
    amount: 1n,
    metadata: METADATA,
    content: contentOf(METADATA),
    edition: null,
    path: '',
  }
  const property = fc.property(
    fc.constantFrom('ERC721' as const, 'ERC1155' as const),
    fc.constantFrom('STANDARD' as const, 'SERIES' as const),
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 1_000_000 }),
    fc.bigInt({ min: 0n, max: 12_000_000n }),
    (standard, collectionType, count, firstTokenId, maxGas) => {
      const items = Array.from({ length: count }, (_, n) => ({ ...item, path: String(n) }))
      const planned = planTransactions({ rules: OSAKA, standard, collectionType, firstTokenId, items }, maxGas)
      let next = firstTokenId
      for (const [n, { firstTokenId: first, items: part, data, gasLimit }] of planned.entries()) {
        const call = COLLECTION_ABI[standard].parseTransaction({ data })
        const idAt = part.length === 1 ? 1 : 0
        if (first !== next || Number(call?.args[idAt]) !== first) return false
        if (part.length > 1 && gasLimit > maxGas) return false
        // One more would not have fitted.
        const last = n === planned.length - 1
        if (!last && mintGas(OSAKA, standard, collectionType, part.length + 1) <= maxGas) return false
        next += part.length
      }
      return next === firstTokenId + count && planned.flatMap((one) => one.items).every((one, n) => one === items[n])
    },
  )
  fc.assert(property)
})

t.test('a hundred tokens of either standard are one transaction', async (t) => {
  for (const standard of ['ERC721', 'ERC1155'] as const)
    t.ok(mintGas(OSAKA, standard, 'SERIES', 100) <= 10_000_000n, standard)
})

t.test('the outcome of a mint follows its transaction, and only a final one is a failure', async (t) => {
  const fates: [string, boolean | null, string][] = [
    ['requested', null, 'pending'],
    ['submitted', null, 'pending'],
    ['reorged', null, 'pending'],
    ['mined', true, 'done'],
    ['mined', false, 'pending'],
    ['confirmed', true, 'done'],
    ['reverted', false, 'failed'],
    ['failed', null, 'failed'],
    ['cancelled', true, 'failed'],
  ]
  for (const [state, succeeded, outcome] of fates) t.equal(outcomeOf({ state, succeeded }), outcome, state)
})

t.test('a mint is pending until the last token is decided, and failed when one of them is', async (t) => {
  const row = (
    id: number,
    state: string | null,
    succeeded: boolean | null,
    mintingType: MintingType = 'BATCH',
  ): TokenRow => ({
    tenant_id: 'acme',
    environment: 'mainnet',
    token_id: String(id),
    collection_id: 'col_1',
    mint_id: 'mint_1',
    minting_type: mintingType,
    collection_type: 'SERIES',
    base_uri: 'ipfs://',
    recipient: RECIPIENT,
    amount: '1',
    cid: 'bafy',
    minted_cid: contentOf(METADATA).cid,
    chain_id: 1,
    contract_address: RECIPIENT,
    created_at: new Date(0),
    transaction_id: 'tx_1',
    state,
    succeeded,
    hash: null,
    failure: state === 'failed' ? { code: 'expired', message: 'late' } : null,
    named: null,
    valid_until: null,
    signature: null,
    revocation_id: null,
    revocation_state: null,
    revocation_succeeded: null,
    revocation_hash: null,
    used_as: null,
    used_by: null,
    used_hash: null,
    used_transaction_id: null,
    holder: null,
  })
  const views = (first: TokenRow, ...rows: TokenRow[]) => toMint(toTokens([first, ...rows], 4), first)
  const [minted, pending, failed, lazy] = [
    row(7, 'mined', true),
    row(8, 'signed', null),
    row(9, 'failed', null),
    row(10, null, null, 'LAZY'),
  ]
  t.match(views(minted, pending, failed), { status: 'PENDING', token_id: '7', failure: { code: 'expired' } })
  t.match(views(minted, failed), { status: 'FAILED' })
  t.match(views(minted), { status: 'MINTED', failure: null, edition: 5, metadata_uri: 'ipfs://bafy' })
  const lazily = (more: Partial<TokenRow>) => views({ ...lazy, ...more })
  t.match(lazily({}), { status: 'LAZY', voucher: { recipient: null, signature: null, revocation: null } })
  t.match(lazily({ state: 'signed' }), { status: 'PENDING', owner: RECIPIENT })
  t.match(lazily({ state: 'failed' }), { status: 'LAZY', owner: null }, 'a failed redemption leaves the voucher unused')
  t.match(lazily({ state: 'mined', succeeded: true }), { status: 'MINTED', owner: RECIPIENT })
  const used = { used_as: 'minted', used_by: '0xaa' } as const
  t.match(lazily(used), { status: 'MINTED', owner: '0xaa' }, 'a token redeemed elsewhere is minted')
  const revoking = { revocation_id: 'tx_9', revocation_state: 'signed' }
  t.match(lazily(revoking), { status: 'LAZY', voucher: { revocation: { status: 'PENDING', transaction_id: 'tx_9' } } })
  t.match(lazily({ ...revoking, revocation_state: 'mined', revocation_succeeded: true }), { status: 'REVOKED' })
  t.match(lazily({ ...revoking, ...used }), { status: 'MINTED' }, 'the redemption preceded the revocation')
  const all = views(minted, failed, pending)
  t.strictSame(
    all.tokens.map(({ status, edition }) => [status, edition]),
    [
      ['MINTED', 5],
      ['FAILED', null],
      ['PENDING', 6],
    ],
    'a failed token has no edition, and the next token takes it',
  )
})
