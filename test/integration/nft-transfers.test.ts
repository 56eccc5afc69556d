/** Transfers of tokens from wallets on a real chain: accepted ones happen once, impossible ones are refused. */
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { encodeErc721Transfer } from '../../src/nft/contracts/encode-calls.ts'
import type { Reply } from '../support/client.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type NftStage, STRANGER, type StagedCollection, withNftStage } from '../support/nft-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** A contract that accepts no tokens. */
const DEAF = FACTORY_ADDRESS

/** `422 field code` of each problem. */
function refusal({ status, body }: Reply): string[] {
  return (body.errors ?? []).map(({ field, code }) => [status, field, code].filter(Boolean).join(' '))
}

type Scene = {
  readonly stage: NftStage
  readonly issuer: LoadWallet
  readonly holder: LoadWallet
  readonly collection: StagedCollection
  /** The fields of every request here. */
  readonly from: { readonly collection_id: string; readonly from: string }
}

async function whileMinting(t: Test, { stage, collection, from }: Scene): Promise<void> {
  const { status, body } = await stage.transfer({ ...from, token_id: '4', to: STRANGER })
  t.equal(status, 202)
  matchExactly(t, body.data, { transfer_id: /^nftx_/, status: 'PENDING', transaction_hash: null, warnings: [] })
  await stage.settle()
  const view = await stage.readTransfer(body.data.transfer_id)
  matchExactly(t, view, {
    status: 'CONFIRMED',
    transaction_hash: /^0x/,
    items: [{ token_id: '4', status: 'CONFIRMED' }],
  })
  t.ok((await stage.owners(collection)).includes(`4 ${STRANGER} 1`))
}

async function refusals(t: Test, { stage, issuer, from }: Scene): Promise<void> {
  const recorded = async () => (await stage.service.pool.query('SELECT FROM nft_transfers')).rowCount
  const before = await recorded()
  const wrong = async (body: object) => refusal(await stage.transfer({ ...from, token_id: '1', to: STRANGER, ...body }))
  t.strictSame(await wrong({ token_id: '4' }), ['422 from not_holder'])
  t.strictSame(await wrong({ token_id: '77' }), ['422 token_id token_not_found'])
  t.strictSame(await wrong({ from: issuer.address }), ['422 from not_holder'])
  t.strictSame(await wrong({ from: STRANGER }), ['422 from not_your_wallet'])
  t.strictSame(await wrong({ to: `0x${'00'.repeat(20)}` }), ['422 to zero_address'])
  t.strictSame(await wrong({ to: STRANGER.replace('f39F', 'F39F') }), ['422 to bad_checksum'])
  t.strictSame(await wrong({ to: DEAF, transfer_type: 'SAFE' }), ['422 to unsafe_recipient'])
  t.strictSame(await wrong({ transfer_type: 'FAST' }), ['422 transfer_type not_allowed'])
  t.strictSame(await wrong({ token_id: 'one' }), ['422 token_id invalid_token_id'])
  t.strictSame(await wrong({ amount: '2' }), ['422 amount amount_not_one'])
  t.strictSame(await wrong({ to: undefined }), ['422 to required'])
  t.strictSame(await wrong({ items: [{ token_id: '1', to: STRANGER }] }), ['422 items not_with_type'])
  const unknown = 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
  t.strictSame(await wrong({ collection_id: unknown }), ['404 collection_not_found'])
  const batch = (list: object[]) => wrong({ token_id: undefined, to: undefined, transfer_type: 'BATCH', items: list })
  const item = { token_id: '1', to: STRANGER }
  t.strictSame(await batch([]), ['422 items too_few'])
  t.strictSame(await batch(Array.from({ length: 101 }, () => item)), ['422 items too_many'])
  t.strictSame(await batch([item, item]), ['422 items[1].token_id duplicate_token'])
  t.strictSame(await batch([item, { token_id: '99', to: STRANGER }]), ['422 items[1].token_id token_not_found'])
  t.equal(await recorded(), before)
}

async function fromWatch(t: Test, { stage, holder, from }: Scene): Promise<void> {
  const watch = { address: STRANGER, network: 'ethereum' }
  t.equal((await stage.ask({ method: 'POST', path: '/v1/wallets/watch', body: watch })).status, 201)
  const sent = await stage.transfer({ ...from, from: STRANGER, token_id: '4', to: holder.address })
  t.strictSame(refusal(sent), ['422 from watch_only'])
}

async function atOnce(t: Test, { stage, collection, from }: Scene): Promise<void> {
  const second = await stage.service.startApi()
  const apis = [stage.service.api, second]
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      (apis[n % 2] ?? second).send('/v1/nft/transfer', { ...from, token_id: '1', to: STRANGER }),
    ),
  )
  t.strictSame(replies.map(({ status }) => status).toSorted(), [202, ...Array.from({ length: 11 }, () => 409)])
  t.strictSame(refusal(replies.find(({ status }) => status === 409) as Reply), ['409 token_in_transfer'])
  await stage.settle()
  t.ok((await stage.owners(collection)).includes(`1 ${STRANGER} 1`))
}

async function sameKey(t: Test, { stage, collection, from }: Scene): Promise<void> {
  const body = { ...from, token_id: '2', to: DEAF }
  const first = await stage.transfer(body, 'once')
  matchExactly(t, first.body.data.warnings, [{ code: 'recipient_cannot_receive', field: 'to' }])
  await stage.settle()
  const again = await stage.transfer(body, 'once')
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.strictSame([again.body.data.transfer_id, again.body.data.status], [first.body.data.transfer_id, 'CONFIRMED'])
  t.ok((await stage.owners(collection)).includes(`2 ${DEAF} 1`))
}

async function fates(t: Test, { stage, holder, collection, from }: Scene): Promise<void> {
  for (const tokenId of [1n, 4n]) {
    const back = { from: STRANGER, to: holder.address, tokenId, amount: 1n }
    await stage.outside({ to: collection.contract, data: encodeErc721Transfer(back) })
  }
  await eventually(async () => (await stage.owners(collection)).includes(`4 ${holder.address} 1`))
  const batch = {
    ...from,
    transfer_type: 'BATCH',
    items: ['1', '3', '4'].map((token_id) => ({ token_id, to: STRANGER })),
  }
  const { body } = await stage.transfer(batch)
  const [one, two] = body.data.items
  t.not(one.transaction_id, two.transaction_id)
  await stage.until(holder, two.transaction_id, 'submitted')
  const cancel = `/v1/wallets/${holder.id}/transactions/${two.transaction_id}/cancel`
  t.equal((await stage.ask({ method: 'POST', path: cancel, key: 'cancel' })).status < 300, true)
  // Before a block is made: otherwise the transfer may be in it and the cancellation not.
  await eventually(async () => {
    const { state, hashes } = await stage.read(holder, two.transaction_id)
    return state === 'submitted' && hashes.length > 1
  })
  await stage.mine()
  await stage.until(holder, two.transaction_id, 'cancelling')
  const { items } = await stage.readTransfer(body.data.transfer_id)
  t.equal(items[1].status, 'PENDING', 'a cancellation that is not final decides nothing')
  const again = { ...from, token_id: '3', to: STRANGER, transfer_type: 'SAFE' }
  matchExactly(
    t,
    (await stage.transfer(again)).body.errors,
    [{ code: 'token_in_transfer' }],
    'and the token is not free',
  )
  await stage.settle()
  const view = await stage.readTransfer(body.data.transfer_id)
  t.equal(view.status, 'FAILED')
  t.strictSame(
    view.items.map((item: { status: string }) => item.status),
    ['CONFIRMED', 'FAILED', 'CONFIRMED'],
  )
  t.equal((await stage.transfer({ ...from, token_id: '3', to: STRANGER, transfer_type: 'SAFE' })).status, 202)
  await stage.settle()
  t.strictSame(await stage.owners(collection), [`1 ${STRANGER} 1`, `2 ${DEAF} 1`, `3 ${STRANGER} 1`, `4 ${STRANGER} 1`])
}

t.test('transfers of ERC-721, one by one and in a batch', async (t) => {
  const stage = await withNftStage(t)
  const [issuer, holder] = await stage.service.makeWallets(2)
  if (issuer === undefined || holder === undefined) throw new Error('a wallet is missing')
  const collection = await stage.collection(issuer)
  const from = { collection_id: collection.id, from: holder.address }
  const items = [1, 2, 3, 4].map((n) => ({ recipient: holder.address, metadata: { name: `Number ${n}` } }))
  await stage.mint(collection, holder.address, {
    minting_type: 'BATCH',
    items,
    recipient: undefined,
    metadata: undefined,
  })
  const scene = { stage, issuer, holder, collection, from }
  await t.test('a token that is still being minted is moved once it is there', (t) => whileMinting(t, scene))
  await t.test('an invalid transfer is refused with its field, and nothing is recorded', (t) => refusals(t, scene))
  await t.test('a watch wallet sends no token', (t) => fromWatch(t, scene))
  await t.test('one of many simultaneous requests for a token is accepted, also by two processes', (t) =>
    atOnce(t, scene),
  )
  await t.test('a repeated key is answered with the first transfer, even when the token was sent', (t) =>
    sameKey(t, scene),
  )
  await t.test(
    'the token of a failed transfer can be transferred again, and a batch has the outcome of each item',
    (t) => fates(t, scene),
  )

  t.strictSame((await compareLive(stage.service.pool, LOG_CONTENTS)).differences, [])
})

t.test('transfers of ERC-1155 count units, and go to one receiver at once', async (t) => {
  const stage = await withNftStage(t)
  const [holder] = await stage.service.makeWallets(1)
  if (holder === undefined) throw new Error('the wallet is missing')
  const collection = await stage.collection(holder, { standard: 'ERC1155' })
  for (const amount of ['100', '5']) await stage.mint(collection, holder.address, { amount })
  await stage.settle()
  const from = { collection_id: collection.id, from: holder.address }
  const send = (body: object) => stage.transfer({ ...from, token_id: '1', to: STRANGER, ...body })

  t.strictSame(refusal(await send({ amount: '0' })), ['422 amount amount_zero'])
  t.strictSame(refusal(await send({ amount: '101' })), ['422 amount exceeds_balance'])
  t.strictSame(refusal(await send({ to: DEAF, amount: '1' })), ['422 to unsafe_recipient'])

  const many = await Promise.all(Array.from({ length: 12 }, () => send({ amount: '10' })))
  t.equal(many.filter(({ status }) => status === 202).length, 10)
  t.strictSame(refusal(many.find(({ status }) => status !== 202) as Reply), ['409 token_in_transfer'])
  await stage.settle()
  t.strictSame(await stage.owners(collection), [`1 ${STRANGER} 100`, `2 ${holder.address} 5`])

  await stage.mint(collection, holder.address, { amount: '7' })
  await stage.settle()
  const other = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const items = [
    { token_id: '2', to: STRANGER, amount: '2' },
    { token_id: '3', to: STRANGER, amount: '7' },
  ]
  const { body } = await stage.transfer({ ...from, transfer_type: 'BATCH', items })
  t.equal(body.data.items[0].transaction_id, body.data.items[1].transaction_id, 'both items are in one transaction')
  await stage.settle()
  t.equal((await stage.transfer({ ...from, token_id: '2', to: other, amount: '3' })).status, 202)
  await stage.settle()
  t.strictSame(
    (await stage.owners(collection)).toSorted(),
    [`1 ${STRANGER} 100`, `2 ${STRANGER} 2`, `2 ${other} 3`, `3 ${STRANGER} 7`].toSorted(),
  )
})

t.test('tokens that stay with their first holders are not sent', async (t) => {
  const stage = await withNftStage(t)
  const [holder] = await stage.service.makeWallets(1)
  if (holder === undefined) throw new Error('the wallet is missing')
  const collection = await stage.collection(holder, { transferable: false })
  await stage.mint(collection, holder.address)
  await stage.settle()
  const sent = await stage.transfer({ collection_id: collection.id, from: holder.address, token_id: '1', to: STRANGER })
  t.strictSame(refusal(sent), ['422 collection_id not_transferable'])
})
