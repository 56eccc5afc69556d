/**
 * Signatures over messages and typed data over HTTP on a real PostgreSQL: results, refusals, and the fold of the log.
 */

import { hashMessage, TypedDataEncoder, verifyMessage, verifyTypedData } from 'ethers'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { newId } from '../../src/compose/new-id.ts'
import { composeRecordedWallets } from '../../src/compose/recorded-wallets.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { signatureWork } from '../../src/signatures/capability.ts'
import { signRecorded } from '../../src/signatures/sign-recorded.ts'
import { createSigningWalletOf } from '../../src/wallets/signing-wallet.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS } from '../support/http.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { dataOf, LETTER, withSigning } from '../support/signing-stage.ts'
import { MAIL } from '../support/typed-data.ts'
import { CREATE, UNKNOWN_ID, WATCH } from '../support/wallet-api.ts'
import { anotherLog, beat, makeWallet, runSigner, testSigner } from '../support/wallet-parts.ts'

const ASYNC = { prefer: 'respond-async' }
const STRANGER = { authorization: `Bearer ${KEYS.cold}` }
const READER = { authorization: `Bearer ${KEYS.reader}` }

const { EIP712Domain: _, ...TYPES } = MAIL.types

t.test('a message is signed as wallets sign it, and the signature can be read again', async (t) => {
  const { post, get, wallet } = await withSigning(t)
  const { path, walletId, address } = await wallet()
  for (const [body, bytes] of [
    [{ message: 'Sign in: Grüße\n' }, 'Sign in: Grüße\n'],
    [{ message: '0x00ff', encoding: 'hex' }, Uint8Array.of(0, 255)],
    [{ message: '0x00ff', encoding: 'utf8' }, '0x00ff'],
    [{ message: '' }, ''],
  ] as const) {
    const answer = await post(`${path}/sign/message`, body)
    t.equal(answer.status, 201, answer.text)
    const { signature, r, s, v, digest, signature_id, ...rest } = dataOf(answer)
    t.match(rest, { wallet_id: walletId, address, type: 'message', status: 'signed', signed_at: String })
    t.equal(verifyMessage(bytes, String(signature)), address)
    t.equal(digest, hashMessage(bytes))
    t.equal(`${r}${String(s).slice(2)}${Number(v).toString(16)}`, signature)
    t.match(signature_id, /^sig_/)
    const read = await get(`${path}/signatures/${signature_id}`)
    t.strictSame([read.status, read.body], [200, answer.body])
  }
})

t.test('typed data is signed as wallets sign it, whether or not it names its chain', async (t) => {
  const { post, wallet, events } = await withSigning(t)
  const { path, address } = await wallet()
  const answer = await post(`${path}/sign/typed-data`, LETTER)
  t.equal(answer.status, 201, answer.text)
  const { signature, digest, type } = dataOf(answer)
  t.equal(type, 'typed_data')
  t.equal(verifyTypedData(LETTER.domain, TYPES, LETTER.message, String(signature)), address)
  t.equal(digest, TypedDataEncoder.hash(LETTER.domain, TYPES, LETTER.message))
  const { chainId: _, ...domain } = LETTER.domain
  const anywhere = await post(`${path}/sign/typed-data`, {
    domain,
    types: TYPES,
    primary_type: 'Mail',
    message: MAIL.message,
  })
  t.equal(anywhere.status, 201, anywhere.text)
  t.equal(verifyTypedData(domain, TYPES, LETTER.message, String(dataOf(anywhere).signature)), address)
  matchExactly(t, await events(), [
    {
      type: 'TypedDataSignatureRequested',
      data: { address, chainId: TEST_CHAIN, digest, typedData: { types: TYPES } },
    },
    { type: 'SignatureMade', data: { signature } },
    { type: 'TypedDataSignatureRequested' },
    { type: 'SignatureMade' },
  ])
})

t.test('an invalid request is refused by its field, and nothing is recorded', async (t) => {
  const { post, wallet, events } = await withSigning(t)
  const { path } = await wallet()
  const messages: [body: object, ...refusals: string[]][] = [
    [{}, 'message required'],
    [{ message: 5 }, 'message wrong_type'],
    [{ message: '0x1', encoding: 'hex' }, 'message invalid_hex'],
    [{ message: 'a', encoding: 'base64' }, 'encoding not_allowed'],
    [{ message: 'a', mesage: 'b' }, 'mesage unknown_field'],
    [{ message: 'a\u0000' }, 'message invalid_text'],
    [{ message: 'a'.repeat(32_769) }, 'message message_too_large'],
  ]
  for (const [body, ...refusals] of messages) {
    const answer = await post(`${path}/sign/message`, body)
    t.strictSame([answer.status, ...told(answer)], [422, ...refusals], JSON.stringify(body).slice(0, 60))
  }
  const { domain, types, message } = LETTER
  const letters: [body: object, ...refusals: string[]][] = [
    [MAIL, 'domain.chainId chain_id_mismatch'],
    [{ ...LETTER, primary_type: 'Person' }, 'primary_type not_allowed'],
    [{ ...LETTER, types: { ...types, Extra: [{ name: 'a', type: 'bool' }] } }, 'types unused_type'],
    [{ ...LETTER, types: { ...types, Person: [{ name: 'a', type: 'uint' }] } }, 'types.Person[0].type invalid_type'],
    [{ ...LETTER, types: { ...types, Person: [{ name: 'a' }] } }, 'types.Person[0].type required'],
    [{ ...LETTER, types: { ...types, Person: 'name' } }, 'types.Person wrong_type'],
    [{ ...LETTER, types: [] }, 'types wrong_type'],
    [{ ...LETTER, domain: { ...domain, chain: 1 } }, 'domain.chain unknown_field'],
    [{ ...LETTER, domain: { ...domain, chainId: true } }, 'domain.chainId wrong_type'],
    [{ ...LETTER, domain: {} }, 'domain too_few'],
    [{ ...LETTER, message: { ...message, to: { name: 'Bob' } } }, 'message.to.wallet required'],
    [{ ...LETTER, message: 'Hello' }, 'message wrong_type'],
    [{ types, domain }, 'message required'],
    [{ ...LETTER, message: { ...message, contents: 'a'.repeat(65_536) } }, 'message typed_data_too_large'],
  ]
  for (const [body, ...refusals] of letters) {
    const answer = await post(`${path}/sign/typed-data`, body)
    t.strictSame([answer.status, ...told(answer)], [422, ...refusals], JSON.stringify(body).slice(0, 60))
  }
  t.strictSame(await events(), [])
})

/** EIP-2612, without a chain: valid on each chain where the token has this address. */
const PERMIT = {
  domain: { name: 'Token', verifyingContract: MAIL.domain.verifyingContract },
  types: {
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  },
  message: {
    owner: MAIL.message.from.wallet,
    spender: MAIL.message.to.wallet,
    value: (2n ** 256n - 1n).toString(),
    nonce: '0',
    deadline: '9999999999',
  },
}

t.test('a permit is signed only where the operator allows it, and in the sandbox', async (t) => {
  const production = await withSigning(t)
  const refused = await production.post(`${(await production.wallet()).path}/sign/typed-data`, PERMIT)
  t.strictSame([refused.status, ...told(refused)], [422, 'types.Permit typed_data_spends'])
  t.match(refused.body, {
    message: /^types\.Permit is named like a permit.*or publish a policy with a rule about sign_typed_data\.$/,
  })
  t.strictSame(await production.events(), [], 'nothing is recorded')
  for (const env of [{ SIGN_SPENDING_TYPED_DATA: 'allow' }, { SANDBOX: 'true' }]) {
    const open = await withSigning(t, { env })
    const { path, address } = await open.wallet()
    const { domain, types, message } = PERMIT
    const signed = await open.post(`${path}/sign/typed-data`, PERMIT)
    t.equal(signed.status, 201, signed.text)
    t.equal(verifyTypedData(domain, types, message, String(dataOf(signed).signature)), address)
  }
})

t.test('only the owner of an active wallet with a key has it sign', async (t) => {
  const { post, get, send, wallet, events } = await withSigning(t)
  const { path } = await wallet()
  const sign = (at: string, headers = {}) => post(`${at}/sign/message`, { message: 'a' }, headers)
  const id = dataOf(await sign(path)).signature_id
  const watched = dataOf(await post('/v1/wallets/watch', WATCH)).wallet_id
  const other = await wallet()
  const before = (await events()).length
  const refusals: [answer: Answer, status: number, what: string][] = [
    [await sign(`/v1/wallets/${watched}`), 422, 'wallet_id watch_only'],
    [await sign(`/v1/wallets/${UNKNOWN_ID}`), 404, '- wallet_not_found'],
    [await sign('/v1/wallets/x'), 404, '- wallet_not_found'],
    [await sign(path, STRANGER), 404, '- wallet_not_found'],
    [await sign(path, READER), 403, '- insufficient_scope'],
    [await get(`${path}/signatures/${id}`, STRANGER), 404, '- wallet_not_found'],
    [await get(`${path}/signatures/${id}`, READER), 403, '- insufficient_scope'],
    [await get(`${other.path}/signatures/${id}`), 404, '- signature_not_found'],
    [await get(`${path}/signatures/${newId('signature')}`), 404, '- signature_not_found'],
    [await get(`${path}/signatures/x`), 404, '- signature_not_found'],
  ]
  for (const [answer, status, what] of refusals) t.strictSame([answer.status, ...told(answer)], [status, what])
  t.equal((await send({ method: 'DELETE', url: `${path}?force=true` })).status, 200)
  const archived = await sign(path)
  t.strictSame([archived.status, ...told(archived)], [409, '- wallet_archived'])
  t.equal((await get(`${path}/signatures/${id}`)).status, 200, 'an earlier signature can still be read')
  t.equal((await events()).length, before)
})

t.test('the same key gives the same signature again, and another body under it is refused', async (t) => {
  const { post, send, wallet, events } = await withSigning(t)
  const { path } = await wallet()
  const sign = (body: object, key: string) => post(`${path}/sign/message`, body, { 'idempotency-key': key })
  const first = await sign({ message: 'a' }, 'once')
  const again = await Promise.all([sign({ message: 'a' }, 'once'), sign({ message: 'a' }, 'once')])
  for (const answer of again) {
    t.strictSame([answer.status, answer.headers['idempotency-replayed'], answer.body], [201, 'true', first.body])
  }
  t.strictSame(told(await sign({ message: 'b' }, 'once')), ['- idempotency_key_reused'])
  await send({ method: 'DELETE', url: `${path}?force=true` })
  const late = await sign({ message: 'a' }, 'once')
  t.strictSame([late.status, late.headers['idempotency-replayed'], late.body], [201, 'true', first.body])
  const crowd = await withSigning(t)
  const its = await crowd.wallet()
  const same = await Promise.all(
    Array.from({ length: 8 }, () => crowd.post(`${its.path}/sign/typed-data`, LETTER, { 'idempotency-key': 'crowd' })),
  )
  t.equal(new Set(same.map((answer) => dataOf(answer).signature_id)).size, 1)
  t.strictSame([(await events()).length, (await crowd.events()).length], [2, 2])
})

t.test('without a signer a request stays pending, and is not lost', async (t) => {
  const { parts, post, get } = await withSigning(t, { signer: false })
  await beat(parts)
  const walletId = String(dataOf(await post('/v1/wallets/create', CREATE, ASYNC)).wallet_id)
  const path = `/v1/wallets/${walletId}`
  const early = await post(`${path}/sign/message`, { message: 'a' }, ASYNC)
  t.strictSame([early.status, ...told(early)], [409, '- wallet_not_ready'])
  await parts.makeHdWallet(walletId)
  const pending = await post(`${path}/sign/message`, { message: 'a' }, { prefer: 'wait=1' })
  t.strictSame([pending.status, pending.headers['preference-applied']], [202, 'wait=1'])
  t.match(dataOf(pending), { status: 'pending', digest: hashMessage('a'), signature: null, r: null, s: null, v: null })
  const { signature_id } = dataOf(pending)
  const unasked = await post(`${path}/sign/typed-data`, LETTER, ASYNC)
  matchExactly(t, [unasked.status, unasked.headers['preference-applied']], [202, 'respond-async'])
  const job = { queue: 'signature', id: signature_id, data: { signature_id } }
  t.strictSame(await signatureWork.findQuiet(parts.pool, new Date(Date.now() + 60_000), 1), [job], 'oldest job first')
  t.strictSame(await signatureWork.findQuiet(parts.pool, new Date(0), 10), [], 'a recent job is not queued again')
  await runSigner(t, parts)
  const waited = await post(`${path}/sign/message`, { message: 'b' })
  t.equal(waited.status, 201)
  t.match(dataOf(await get(`${path}/signatures/${signature_id}`)), { status: 'signed', v: /^2[78]$/ })
  t.strictSame(await signatureWork.findQuiet(parts.pool, new Date(Date.now() + 60_000), 10), [])
})

t.test('one of several duplicate jobs records its signature, and a replay returns the same one', async (t) => {
  const { parts, post, events } = await withSigning(t, { signer: false })
  const walletId = await makeWallet(parts)
  const wishes = await Promise.all([
    post(`/v1/wallets/${walletId}/sign/typed-data`, LETTER, ASYNC),
    post(`/v1/wallets/${walletId}/sign/message`, { message: 'a' }, ASYNC),
  ])
  const walletOf = createSigningWalletOf(composeRecordedWallets(parts))
  const signers = [parts.log, anotherLog(parts), anotherLog(parts)].map((log) => ({
    log,
    signer: testSigner(),
    walletOf,
    problems: { signature: async () => null },
  }))
  for (const wish of wishes)
    for (const _ of [1, 2])
      await Promise.all(signers.map((signing) => signRecorded(signing, String(dataOf(wish).signature_id))))
  t.equal((await events()).filter(({ type }) => type === 'SignatureMade').length, 2)
  const { rows, differences } = await compareLive(parts.pool, LOG_CONTENTS)
  t.equal(rows.signatures, 2)
  t.strictSame(differences, [])
})
