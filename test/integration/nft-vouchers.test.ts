/** Vouchers and token updates over HTTP on a real PostgreSQL: refusals, effects, and the fold of the log. */
import { verifyTypedData } from 'ethers'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { voucherWork } from '../../src/nft/tokens/jobs.ts'
import { signVoucher } from '../../src/nft/tokens/sign-voucher.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { mine, NOW, rowOf, settle } from '../support/calls.ts'
import { told } from '../support/client.ts'
import type { Answer } from '../support/http.ts'
import { BUT_BALANCES } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ASYNC, type Data, DEAF_CONTRACT, type NftApi, RECIPIENT, STRANGER, withNftApi } from '../support/nft-api.ts'
import { recordUse } from '../support/recorded-use.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, testSigner } from '../support/wallet-parts.ts'

const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const dataOf = (answer: Answer) =>
  (answer.body.data ?? {}) as Data & { voucher: Data & { revocation: Data | null }; last_update: Data }

type Signed = { readonly signature: string; readonly message: { readonly digest: string } }

async function withLazy(t: Test, collectionBody: object = {}) {
  const api = await withNftApi(t)
  const { collection_id, owner, contract_address } = await api.collection(collectionBody)
  const lazy = (body: object = {}) => api.mint(collection_id, { minting_type: 'LAZY', ...body }, { prefer: 'wait=10' })
  const act = (mintId: unknown, action: 'redeem' | 'revoke', body: object = {}, headers = {}) =>
    api.post(`/v1/nft/mints/${mintId}/${action}`, body, { ...ASYNC, ...headers })
  const read = async (mintId: unknown) => dataOf(await api.get(`/v1/nft/mints/${mintId}`))
  return { ...api, collection_id, owner: String(owner), contract_address, lazy, act, read }
}

const fail = ({ calls }: Pick<NftApi, 'calls'>, transactionId: string) =>
  calls.log.execute(
    transactionAggregate,
    transactionId,
    { type: 'FailUnsigned', code: 'expired', message: 'late', now: NOW },
    { metadata: ACME },
  )

t.test('a lazy mint is answered with a voucher that its owner signed, and sends nothing', async (t) => {
  const { calls, lazy, owner, contract_address, collection_id, mint } = await withLazy(t)
  const answer = await lazy({ valid_until: '2099-01-01T00:00:00.700Z' })
  t.equal(answer.status, 201, answer.text)
  const { voucher, ...data } = dataOf(answer)
  t.match(data, { status: 'LAZY', token_id: '1', owner: RECIPIENT, transaction_id: null, transaction_hash: null })
  t.match(voucher, { recipient: RECIPIENT, amount: '1', valid_until: '2099-01-01T00:00:00.000Z', revocation: null })
  const { domain, message, signature } = voucher as unknown as {
    domain: { verifyingContract: string }
    message: Record<string, string>
    signature: string
  }
  const types = {
    Voucher: [
      { name: 'tokenId', type: 'uint256' },
      { name: 'recipient', type: 'address' },
      { name: 'amount', type: 'uint256' },
      { name: 'digest', type: 'bytes32' },
      { name: 'validUntil', type: 'uint256' },
    ],
  }
  t.equal(verifyTypedData(domain, types, message, signature), owner)
  t.equal(domain.verifyingContract, contract_address)
  t.equal(message.validUntil, String(Date.parse('2099-01-01T00:00:00Z') / 1_000))
  const { rows } = await calls.pool.query("SELECT count(*)::int AS n FROM transactions WHERE type = 'NFT_MINT'")
  t.strictSame(rows, [{ n: 0 }])
  t.equal(dataOf(await mint(collection_id)).token_id, '2', 'the voucher keeps its token id')
  const anyone = await lazy({ recipient: undefined })
  t.match(dataOf(anyone), { status: 'LAZY', owner: null, voucher: { recipient: null, valid_until: null } })
})

t.test('a lazy mint that cannot be is refused by its field', async (t) => {
  const { lazy, mint, collection, collection_id } = await withLazy(t)
  t.strictSame(told(await lazy({ valid_until: '2020-01-01T00:00:00Z' })), ['valid_until expired'])
  t.strictSame(told(await mint(collection_id, { valid_until: '2099-01-01T00:00:00Z' })), ['valid_until not_allowed'])
  t.strictSame(told(await lazy({ recipient: `0x${'00'.repeat(20)}` })), ['recipient zero_address'])
  const series = await collection({ collection_type: 'SERIES' })
  t.strictSame(told(await mint(series.collection_id, { minting_type: 'LAZY' })), ['minting_type not_allowed'])
})

t.test('a voucher is redeemed once, and its state follows the chain', async (t) => {
  const api = await withLazy(t)
  const { calls, lazy, act, read, contract_address, collection_id } = api
  const { mint_id: named } = dataOf(await lazy())
  t.strictSame(told(await act(named, 'redeem', { recipient: OTHER })), ['recipient recipient_mismatch'])
  const { mint_id } = dataOf(await lazy({ recipient: undefined }))
  t.strictSame(told(await act(mint_id, 'redeem')), ['recipient required'])
  t.equal((await act(mint_id, 'redeem', { recipient: OTHER }, STRANGER)).status, 404)
  const accepted = await act(mint_id, 'redeem', { recipient: OTHER }, { 'idempotency-key': 'once' })
  t.equal(accepted.status, 202, accepted.text)
  t.match(dataOf(accepted), { status: 'PENDING', owner: OTHER, voucher: { recipient: null } })
  const transactionId = String(dataOf(accepted).transaction_id)
  t.match(await rowOf(calls, transactionId), { type: 'NFT_MINT', to_address: contract_address, subject_id: mint_id })
  const { state } = await calls.log.load(transactionAggregate, transactionId)
  const data = (state.state !== 'unknown' && state.intent.data) || ''
  const call = COLLECTION_ABI.ERC721.parseTransaction({ data })
  t.strictSame([call?.name, call?.args[0], call?.args[1]], ['mint', OTHER, 2n])
  const { signature, message } = (await read(mint_id)).voucher as unknown as Signed
  t.equal(call?.args[2], message.digest)
  t.notOk(data.includes(signature.slice(2, 66)), 'the transaction shows nobody the signature')
  const again = await act(mint_id, 'redeem', { recipient: OTHER }, { 'idempotency-key': 'once' })
  t.strictSame([again.status, again.headers['idempotency-replayed']], [202, 'true'])
  t.strictSame(told(await act(mint_id, 'redeem', { recipient: OTHER })), ['- already_redeemed'])
  t.strictSame(told(await act(mint_id, 'revoke')), ['- already_redeemed'])
  await fail(api, transactionId)
  t.match(await read(mint_id), { status: 'LAZY', failure: { code: 'expired' } }, 'the voucher is still unused')
  const anew = dataOf(await act(mint_id, 'redeem', { recipient: RECIPIENT }))
  await mine(calls, String(anew.transaction_id), 0)
  t.match(await read(mint_id), { status: 'MINTED', owner: RECIPIENT, voucher: { recipient: null } })
  t.strictSame(told(await act(mint_id, 'redeem', { recipient: OTHER })), ['- already_redeemed'])
  const direct = dataOf(await api.mint(collection_id))
  t.strictSame(told(await act(direct.mint_id, 'revoke')), ['- not_lazy'])
  t.strictSame(told(await act(direct.mint_id, 'redeem')), ['- not_lazy'])
})

t.test('one of ten simultaneous redemptions and revocations is accepted', async (t) => {
  const { calls, lazy, act } = await withLazy(t)
  const { mint_id } = dataOf(await lazy())
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => act(mint_id, n % 2 === 0 ? 'redeem' : 'revoke')),
  )
  t.strictSame(answers.map(({ status }) => status).toSorted(), [202, ...Array(9).fill(409)])
  const { rows } = await calls.pool.query('SELECT transaction_id FROM transactions WHERE subject_id = $1', [mint_id])
  t.equal(rows.length, 1)
})

t.test('a revoked voucher and an expired one are not redeemed, and a revoked one makes room', async (t) => {
  const { calls, lazy, act, read, mint, collection_id } = await withLazy(t, { max_supply: 2 })
  const { mint_id } = dataOf(await lazy())
  const revoking = await act(mint_id, 'revoke')
  t.equal(revoking.status, 202, revoking.text)
  t.match(dataOf(revoking), { status: 'LAZY', voucher: { revocation: { status: 'PENDING' } } })
  const transactionId = String(dataOf(revoking).voucher.revocation?.transaction_id)
  t.match(await rowOf(calls, transactionId), { type: 'NFT_REVOKE', subject_type: 'mint', subject_id: mint_id })
  t.strictSame(told(await act(mint_id, 'redeem')), ['- voucher_revoked'])
  t.equal((await mint(collection_id)).status, 202)
  t.strictSame(told(await mint(collection_id)), ['- max_supply_reached'])
  await mine(calls, transactionId, 0)
  t.match(await read(mint_id), { status: 'REVOKED', voucher: { revocation: { status: 'REVOKED' } } })
  t.strictSame(told(await act(mint_id, 'redeem')), ['- voucher_revoked'])
  t.strictSame(told(await act(mint_id, 'revoke')), ['- voucher_revoked'])
  // On a slow machine a time may have passed before the request is read: it is then refused, and asked for anew.
  const soon = await eventually(async () => {
    const answer = await lazy({ valid_until: new Date(Date.now() + 2_000).toISOString() })
    return answer.status === 201 && dataOf(answer)
  })
  t.equal(soon.token_id, '3', 'the revocation frees a token of the supply')
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  t.strictSame(told(await act(soon.mint_id, 'redeem')), ['- voucher_expired'])
})

t.test('a redemption by another sender makes the mint MINTED, and its revocation fails', async (t) => {
  const { calls, lazy, act, read } = await withLazy(t)
  const { mint_id } = dataOf(await lazy({ recipient: undefined }))
  const revoking = dataOf(await act(mint_id, 'revoke'))
  await recordUse(calls, mint_id, OTHER)
  const minted = {
    status: 'MINTED',
    owner: OTHER,
    outcome: 'BY_HOLDER',
    transaction_hash: '0xe1',
    transaction_id: null,
  }
  t.match(await read(mint_id), minted)
  const transactionId = String(revoking.voucher.revocation?.transaction_id)
  await mine(calls, transactionId, 0, false)
  await settle(calls, transactionId)
  t.match(await read(mint_id), { status: 'MINTED', voucher: { revocation: { status: 'FAILED' } } })
  t.strictSame(told(await act(mint_id, 'redeem', { recipient: OTHER })), ['- already_redeemed'])
})

t.test('a redemption that a holder of the voucher overtook is an error that says who has the token', async (t) => {
  const { calls, lazy, act, read } = await withLazy(t)
  const overtaken = async (owner: string, recipient: string) => {
    const { mint_id, token_id } = dataOf(await lazy({ recipient: undefined }))
    const redeem = () => act(mint_id, 'redeem', { recipient }, { 'idempotency-key': String(mint_id) })
    const transactionId = String(dataOf(await redeem()).transaction_id)
    await recordUse(calls, mint_id, owner)
    await mine(calls, transactionId, Number(token_id), false)
    return { answer: await redeem(), mint: await read(mint_id), transactionId, token_id, mint_id }
  }
  const stolen = await overtaken(OTHER, RECIPIENT)
  t.strictSame([stolen.answer.status, ...told(stolen.answer)], [409, '- minted_to_another'], stolen.answer.text)
  const { mint_id, token_id, transactionId: transaction_id } = stolen
  const details = { owner: OTHER, recipient: RECIPIENT, mint_id, token_id, transaction_id }
  matchExactly(t, stolen.answer.body.errors, [{ details }])
  const { mint } = stolen
  t.match(mint, { status: 'MINTED', owner: OTHER, outcome: 'BY_HOLDER', transaction_hash: '0xe1', failure: null })
  t.equal(mint.transaction_id, null, 'the transaction that failed minted nothing')
  const own = await overtaken(RECIPIENT, RECIPIENT)
  t.equal(own.answer.status, 200, 'the recipient redeemed the voucher itself')
  t.match(dataOf(own.answer), { status: 'MINTED', owner: RECIPIENT, outcome: 'AS_REQUESTED' })
})

t.test('a revocation that a redemption overtook is an error, and a redemption that failed is open', async (t) => {
  const api = await withLazy(t)
  const { calls, lazy, act } = api
  const { mint_id } = dataOf(await lazy())
  const failing = () => act(mint_id, 'redeem', {}, { 'idempotency-key': 'redeem' })
  await fail(api, String(dataOf(await failing()).transaction_id))
  matchExactly(t, [(await failing()).status, dataOf(await failing())], [202, { status: 'LAZY', outcome: null }])
  const revoke = () => act(mint_id, 'revoke', {}, { 'idempotency-key': 'revoke' })
  const { revocation } = dataOf(await revoke()).voucher
  await recordUse(calls, mint_id, RECIPIENT)
  await mine(calls, String(revocation?.transaction_id), 0, false)
  t.strictSame(told(await revoke()), ['- already_redeemed'])
  t.equal((await failing()).status, 200, 'the token belongs to the recipient of the redemption')
})

t.test('a repeated signature job changes nothing, and a lost one is found', async (t) => {
  const { calls, lazy, read } = await withLazy(t)
  const { mint_id, voucher } = dataOf(await lazy())
  const walletOf = () => Promise.reject(new Error('a voucher that is signed asks for no key'))
  const signing = { log: calls.log, signer: testSigner(), walletOf, problems: { voucher: async () => null } }
  const before = await calls.log.heads([`mint-${mint_id}`])
  await signVoucher(signing, String(mint_id))
  t.strictSame(await calls.log.heads([`mint-${mint_id}`]), before)
  t.equal((await read(mint_id)).voucher.signature, voucher.signature)
  t.strictSame(await voucherWork.findQuiet(calls.pool, new Date(Date.now() + 60_000), 10), [])
  await calls.pool.query('UPDATE nft_vouchers SET signature = NULL WHERE mint_id = $1', [mint_id])
  t.strictSame(await voucherWork.findQuiet(calls.pool, new Date(Date.now() + 60_000), 10), [
    { queue: 'voucher', id: mint_id, data: { mint_id } },
  ])
  t.strictSame(await voucherWork.findQuiet(calls.pool, new Date(0), 10), [], 'a recent voucher is left to its own job')
})

t.test('metadata of a DYNAMIC token changes with its block until it is frozen, also in a replay', async (t) => {
  const { calls, mint, get, collection, collection_id, patch, lazy, act } = await withDynamic(t)
  const { transaction_id } = dataOf(await mint(collection_id))
  t.strictSame(told(await patch({ metadata: { name: 'A' } })), ['- token_not_minted'])
  await mine(calls, String(transaction_id), 0)
  const read = async () => (await get(`/v1/nft/collections/${collection_id}/tokens/1`)).body.data as Data
  const { metadata_uri: first } = await read()
  const changing = await patch({ metadata: { name: 'A' } }, { 'idempotency-key': 'a' })
  t.equal(changing.status, 202, changing.text)
  const { pending_metadata_uri: second, last_update } = dataOf(changing)
  t.match(dataOf(changing), {
    metadata_uri: first,
    frozen: false,
    last_update: { type: 'METADATA', status: 'PENDING' },
  })
  t.match(await rowOf(calls, String(last_update.transaction_id)), {
    type: 'NFT_UPDATE',
    subject_type: 'token',
    subject_id: `${collection_id}-1`,
  })
  t.equal(
    (await patch({ metadata: { name: 'A' } }, { 'idempotency-key': 'a' })).headers['idempotency-replayed'],
    'true',
  )
  await mine(calls, String(last_update.transaction_id), 1)
  t.match(await read(), { metadata_uri: second, pending_metadata_uri: null, metadata: { name: 'A' } })
  const freezing = dataOf(await patch({ freeze: true }))
  t.strictSame(told(await patch({ metadata: { name: 'B' } })), ['- metadata_frozen'])
  await mine(calls, String(freezing.last_update.transaction_id), 2)
  t.match(await read(), { frozen: true, metadata_uri: second, last_update: { type: 'FREEZE', status: 'DONE' } })
  t.strictSame(told(await patch({ metadata: { name: 'B' } })), ['- metadata_frozen'])
  t.strictSame(told(await patch({ freeze: true })), ['- metadata_frozen'])
  t.strictSame(told(await patch({})), ['metadata required'])
  t.strictSame(told(await patch({ freeze: true, metadata: { name: 'B' } })), ['freeze not_allowed'])
  t.equal((await patch({ freeze: false })).status, 422)
  t.equal((await patch({ freeze: true }, STRANGER)).status, 404)
  const standard = await collection()
  t.strictSame(told(await patch({ freeze: true }, {}, standard.collection_id)), ['- collection_not_dynamic'])
  const { mint_id } = dataOf(await lazy())
  await act(mint_id, 'revoke')
  const { rows, differences } = await compareLive(calls.pool, LOG_CONTENTS, { tables: BUT_BALANCES })
  t.strictSame([rows.nft_tokens, rows.nft_vouchers, rows.nft_token_updates], [2, 1, 2])
  t.strictSame(differences, [])
})

async function withDynamic(t: Test) {
  const api = await withLazy(t, { collection_type: 'DYNAMIC' })
  const patch = (body: object, headers: Record<string, string> = {}, collectionId: unknown = api.collection_id) =>
    api.send({
      method: 'PATCH',
      url: `/v1/nft/collections/${collectionId}/tokens/1/metadata`,
      payload: body,
      headers: { ...ASYNC, ...headers },
    })
  return { ...api, patch }
}

t.test('a voucher for a contract that cannot receive causes a warning', async (t) => {
  const { lazy } = await withLazy(t)
  matchExactly(t, (await lazy({ recipient: DEAF_CONTRACT })).body.data, {
    warnings: [{ code: 'recipient_cannot_receive' }],
  })
})
