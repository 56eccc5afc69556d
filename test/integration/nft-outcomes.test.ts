/** What becomes of tokens on a real chain is read from the logs of their contract: outcomes, vouchers, holdings. */
import t, { type Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { encodeErc721Transfer } from '../../src/nft/contracts/encode-calls.ts'
import { ownershipAggregate } from '../../src/nft/ownership/aggregate.ts'
import { accepted, createClient } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type NftStage, STRANGER, type StagedCollection, withNftStage } from '../support/nft-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

// biome-ignore lint/suspicious/noExplicitAny: each test knows the resource that it asked for.
type Data = Readonly<Record<string, any>>

const NFT = COLLECTION_ABI.ERC721

async function withIssuer(t: Test) {
  const stage = await withNftStage(t)
  const [issuer] = await stage.service.makeWallets(1)
  if (issuer === undefined) throw new Error('a wallet is missing')
  const post = (path: string, body: object = {}) => stage.service.api.send(path, body)
  return { ...stage, issuer, post }
}

const mintIn = async (
  { post }: Pick<Awaited<ReturnType<typeof withIssuer>>, 'post'>,
  { id }: StagedCollection,
  body: object,
) => {
  const reply = await post('/v1/nft/mint', { collection_id: id, metadata: { name: 'One' }, ...body })
  return accepted(reply).mint_id as string
}

const readMint = async ({ ask }: Pick<NftStage, 'ask'>, id: string): Promise<Data> =>
  (await ask({ path: `/v1/nft/mints/${id}` })).body.data

async function untilMint(stage: Pick<NftStage, 'service'>, id: string, status: string): Promise<Data> {
  return stage.service.api.until<Data>(`/v1/nft/mints/${id}`, (mint) => mint.status === status)
}

/** What the tenant was told of a resource, in order. */
async function told({ ask }: Pick<NftStage, 'ask'>, resource: string): Promise<{ type: string; data: Data }[]> {
  const { body } = await ask({ path: `/v1/events?resource=${resource}&limit=100` })
  return body.data.events
}

const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type.slice('nft.mint.'.length))

/** A voucher that anybody may redeem, signed. */
async function openVoucher(stage: Awaited<ReturnType<typeof withIssuer>>, collection: StagedCollection) {
  const id = await mintIn(stage, collection, { minting_type: 'LAZY' })
  const { voucher } = await eventually(async () => {
    const mint = await readMint(stage, id)
    return mint.voucher.signature === null ? null : mint
  })
  const { tokenId, recipient, amount, digest, validUntil } = voucher.message
  const terms = [tokenId, recipient, amount, digest, validUntil]
  const call = { to: collection.contract, data: NFT.encodeFunctionData('redeem', [terms, voucher.signature, STRANGER]) }
  return { id, call, tokenId }
}

async function requireReplayed(t: Test, { service }: NftStage): Promise<void> {
  t.strictSame((await compareLive(service.pool, LOG_CONTENTS)).differences, [])
}

t.test(
  'a call of a contract that is not there mints nothing and deploys nothing, and is told as a failure',
  async (t) => {
    const stage = await withIssuer(t)
    const collection = await stage.collection(stage.issuer)
    await stage.rpc('anvil_setCode', collection.contract, '0x')
    const mint = await mintIn(stage, collection, { recipient: STRANGER })
    await stage.settle()
    t.match(await untilMint(stage, mint, 'FAILED'), { failure: { code: 'no_effect', message: /had no code/ } })
    t.strictSame(typesOf(await told(stage, mint)), ['requested', 'failed'])
    await stage.rpc('anvil_setCode', FACTORY_ADDRESS, '0x')
    const second = await stage.post('/v1/nft/collections/create', {
      name: 'Two',
      symbol: 'TWO',
      wallet_id: stage.issuer.id,
    })
    const { collection_id: id } = second.body.data
    await stage.settle()
    const read = async () => (await stage.ask({ path: `/v1/nft/collections/${id}` })).body.data
    t.match(await eventually(async () => ((await read()).status === 'FAILED' ? read() : null)), {
      failure: { code: 'no_effect' },
    })
    const refused = await stage.post('/v1/nft/mint', {
      collection_id: id,
      recipient: STRANGER,
      metadata: { name: 'One' },
    })
    matchExactly(t, refused.body.errors, [{ code: 'collection_failed' }])
    await requireReplayed(t, stage)
  },
)

t.test(
  'a voucher that somebody else redeemed is minted, also once its token is burnt, and not after a reorg',
  async (t) => {
    const stage = await withIssuer(t)
    const collection = await stage.collection(stage.issuer, { max_supply: 1 })
    const { id, call, tokenId } = await openVoucher(stage, collection)
    await stage.mine(3)
    const before = await stage.rpc('evm_snapshot')
    await stage.outside(call)
    t.match(await untilMint(stage, id, 'MINTED'), { owner: STRANGER, transaction_id: null })
    await stage.outside({ to: collection.contract, data: NFT.encodeFunctionData('burn', [tokenId]) })
    await eventually(async () => (await stage.owners(collection)).length === 0)
    t.match(await readMint(stage, id), { status: 'MINTED' }, 'a burnt token was minted')
    matchExactly(t, (await stage.post(`/v1/nft/mints/${id}/redeem`, { recipient: STRANGER })).body.errors, [
      { code: 'already_redeemed' },
    ])
    matchExactly(t, (await stage.post(`/v1/nft/mints/${id}/revoke`)).body.errors, [{ code: 'already_redeemed' }])
    const [minted, ...more] = (await told(stage, id)).slice(2)
    matchExactly(t, minted, {
      type: 'nft.mint.minted',
      data: { status: 'MINTED', transaction_id: null, tokens: [{ owner: STRANGER }] },
    })
    t.strictSame(more, [])
    await stage.rpc('evm_revert', before)
    await stage.rpc('evm_increaseTime', 7)
    await stage.mine(6)
    await untilMint(stage, id, 'LAZY')
    matchExactly(t, (await told(stage, id)).slice(3), [{ type: 'nft.mint.reorged', data: { status: 'LAZY' } }])
    await requireReplayed(t, stage)
  },
)

t.test(
  'a redemption by somebody else from before uses were recorded is learnt by the follower, and told',
  async (t) => {
    const stage = await withIssuer(t)
    const collection = await stage.collection(stage.issuer)
    const { id, tokenId } = await openVoucher(stage, collection)
    await stage.settle()
    await stage.service.stopWorker('chain-follower')
    // What the follower of an earlier version recorded of the redemption, and of the end of the token.
    const place = { chainId: 1000001, contract: collection.contract, blockNumber: 1, blockHash: '0xb1' }
    const move = { tokenId: String(tokenId), amount: '1' }
    const moves = [
      { ...move, from: null, to: STRANGER },
      { ...move, from: STRANGER, to: null },
    ]
    const { log } = stage.service.kernel
    const command = { type: 'RecordMoves', blocks: [{ ...place, moves }], now: log.now() } as const
    await log.execute(ownershipAggregate, collection.id, command, { metadata: { tenantId: 'acme', actor: 'test' } })
    t.match(await readMint(stage, id), { status: 'LAZY' })
    await stage.service.startWorker('chain-follower')
    await stage.mine()
    t.match(await untilMint(stage, id, 'MINTED'), { owner: STRANGER, outcome: 'BY_HOLDER', transaction_id: null })
    matchExactly(t, (await told(stage, id)).slice(2), [
      { type: 'nft.mint.minted', data: { tokens: [{ owner: STRANGER }] } },
    ])
    await stage.mine(2)
    t.equal((await told(stage, id)).length, 3, 'it is told once')
    await requireReplayed(t, stage)
  },
)

t.test('a lost race for a voucher is told as the token that was minted, and not as a failed mint', async (t) => {
  const stage = await withIssuer(t)
  const collection = await stage.collection(stage.issuer)
  const { id, call } = await openVoucher(stage, collection)
  const accepted = await stage.post(`/v1/nft/mints/${id}/redeem`, { recipient: stage.issuer.address })
  const transaction = accepted.body.data.transaction_id
  await stage.until(stage.issuer, transaction, 'submitted')
  const price = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x174876e800' }
  await stage.rpc('eth_sendTransaction', { from: STRANGER, gas: '0x7a120', ...price, ...call })
  await stage.mine()
  t.match(await untilMint(stage, id, 'MINTED'), { owner: STRANGER })
  await stage.settle()
  await stage.until(stage.issuer, transaction, 'reverted')
  t.match(await readMint(stage, id), { status: 'MINTED', owner: STRANGER })
  t.strictSame(typesOf(await told(stage, id)), ['requested', 'voucher_signed', 'minted'])
  const own = await openVoucher(stage, collection)
  await stage.post(`/v1/nft/mints/${own.id}/redeem`, { recipient: stage.issuer.address })
  await stage.settle()
  await untilMint(stage, own.id, 'MINTED')
  const [minted] = (await told(stage, own.id)).slice(2)
  matchExactly(t, minted, {
    type: 'nft.mint.minted',
    data: { tokens: [{ owner: stage.issuer.address }], transaction_id: /^tx_/ },
  })
  const revoked = await openVoucher(stage, collection)
  await stage.post(`/v1/nft/mints/${revoked.id}/revoke`)
  await stage.settle()
  await untilMint(stage, revoked.id, 'REVOKED')
  t.strictSame(typesOf(await told(stage, revoked.id)), ['requested', 'voucher_signed', 'revoked'])
  await requireReplayed(t, stage)
})

t.test("a token of another tenant's collection is listed, transferred, approved and burnt by its holder", async (t) => {
  const stage = await withIssuer(t)
  const { service } = stage
  const collection = await stage.collection(stage.issuer)
  const key = await createIssueApiKey(service.kernel)(
    { tenantId: 'zenith', environment: 'mainnet' },
    { actor: 'operator' },
  )
  const other = createClient(service.baseUrl, key.token)
  const ask = (path: string, body?: object) => (body === undefined ? other.insist({ path }) : other.send(path, body))
  const made = await ask('/v1/wallets/create', { type: 'hd', network: 'ethereum', environment: 'mainnet' })
  const wallet = await other.settle(made)
  await stage.rpc('anvil_setBalance', wallet.address, '0xde0b6b3a7640000')
  const holder = { id: wallet.wallet_id, address: wallet.address }
  const transfer = { collection_id: collection.id, token_id: '1', from: holder.address, to: STRANGER }
  matchExactly(
    t,
    (await ask('/v1/nft/transfer', transfer)).body.errors,
    [{ code: 'collection_not_found' }],
    'nothing is held',
  )
  for (let n = 0; n < 2; n += 1) await stage.mint(collection, holder.address)
  await stage.settle()
  await stage.mine(2)
  const list = async () => (await ask(`/v1/wallets/${holder.id}/nfts`)).body.data.nfts
  await eventually(async () => (await list()).length === 2)
  matchExactly(t, await list(), [
    { collection_id: collection.id, token_id: '2', name: 'One' },
    { collection_id: collection.id, token_id: '1', contract_address: collection.contract },
  ])
  t.equal((await ask(`/v1/nft/collections/${collection.id}`)).status, 404, 'the collection stays its own')
  const call = (name: string, args: string[], fields: object = {}) =>
    ask(`/v1/wallets/${holder.id}/contract-call`, {
      ...{ contract_address: collection.contract, mode: 'send', gas_limit: 200_000, ...fields },
      data: NFT.encodeFunctionData(name, args),
    })
  await eventually(async () => (await ask(`/v1/wallets/${holder.id}/balance`)).body.data.balance !== '0')
  const moved = await ask('/v1/nft/transfer', transfer)
  t.equal(moved.status, 202, JSON.stringify(moved.body))
  for (const name of ['mint', 'redeem', 'revoke', 'transferOwnership']) {
    const { selector } = NFT.getFunction(name) ?? { selector: '0x' }
    const refused = await ask(`/v1/wallets/${holder.id}/contract-call`, {
      ...{
        contract_address: collection.contract,
        mode: 'send',
        gas_limit: 200_000,
        data: `${selector}${'00'.repeat(96)}`,
      },
    })
    matchExactly(t, refused.body.errors, [{ code: 'managed_contract' }], name)
  }
  const approved = await call('approve', [STRANGER, '2'])
  t.equal(approved.status, 202, JSON.stringify(approved.body))
  await stage.settle()
  await eventually(async () => (await list()).length === 1)
  await stage.outside({
    to: collection.contract,
    data: encodeErc721Transfer({ from: holder.address, to: STRANGER, tokenId: 2n, amount: 1n }),
  })
  await eventually(async () => (await list()).length === 0)
  const back = encodeErc721Transfer({ from: STRANGER, to: holder.address, tokenId: 2n, amount: 1n })
  await stage.outside({ to: collection.contract, data: back })
  await eventually(async () => (await list()).length === 1)
  t.equal((await call('burn', ['2'])).status, 202)
  await stage.settle()
  await eventually(async () => (await list()).length === 0)
  t.strictSame(await stage.owners(collection), [`1 ${STRANGER} 1`])
  await requireReplayed(t, stage)
})
