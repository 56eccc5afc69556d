/** The transitions of a signature, the signed bytes of a message, and that every signature is verified. */
import { readdirSync, readFileSync } from 'node:fs'
import { SigningKey, Wallet } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { decideOn, upcast } from '../../src/event-log/aggregate.ts'
import { eip191Digest } from '../../src/keys/eip191.ts'
import { recoverSigner } from '../../src/keys/recover-signer.ts'
import type { MessageRequest, TypedDataRequest } from '../../src/keys/signer.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { signatureWork } from '../../src/signatures/capability.ts'
import { type SignatureCommand, signatureDecider } from '../../src/signatures/decider.ts'
import type { SignatureEvent, SignatureRequested } from '../../src/signatures/events.ts'
import { MAX_MESSAGE_BYTES, readMessage } from '../../src/signatures/read-message.ts'
import { signRecorded } from '../../src/signatures/sign-recorded.ts'
import { toView } from '../../src/signatures/view.ts'
import type { SigningWallet } from '../../src/wallets/signing-wallet.ts'
import { givenOf } from '../support/given.ts'
import { HALF_ORDER } from '../support/key-vectors.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { refusal } from '../support/refusal.ts'
import { COW, MAIL_DIGEST, MAIL_SIGNATURE } from '../support/typed-data.ts'

const NOW = '2026-11-21T12:00:00.000Z'
/** The example of web3.js for `eth.accounts.sign`: "Some data" and the key that signs it. */
const WEB3 = new Wallet('0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318')
const WEB3_SIGNATURE =
  '0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c'

function golden<Type extends SignatureEvent['type']>(type: Type): Extract<SignatureEvent, { type: Type }> {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  return upcast(signatureAggregate.schemas, type, file.schema_version, file.data)
}

const message = golden('MessageSignatureRequested')
const typedData = golden('TypedDataSignatureRequested')
const made = golden('SignatureMade')

const given = givenOf(signatureDecider)

const record: SignatureCommand = { type: 'RecordSignature', signature: made.data.signature, now: made.data.signedAt }

t.test('a request is signed once', async (test) => {
  for (const requested of [message, typedData]) {
    given().when({ type: 'RequestSignature', requested }).expect(test, requested)
    given(requested).when({ type: 'RequestSignature', requested }).fails(test, 'signature_exists')
    given(requested).when(record).expect(test, made)
    given(requested, made)
      .when({ ...record, signature: '0x01' } as SignatureCommand)
      .expect(test)
  }
  given().when(record).fails(test, 'signature_not_found')
})

t.test('every event that was ever written is still read, and gives its row', async (test) => {
  const files = readdirSync(new URL('../golden/events', import.meta.url))
  for (const [type, { version }] of Object.entries(signatureAggregate.schemas))
    for (let n = 1; n <= version; n += 1) test.ok(files.includes(`${type}.v${n}.json`), `${type} v${n} has a file`)
  const context = { id: 'sig_1', tenantId: 'acme', version: 2, recordedAt: NOW }
  const { rows, holds } = signatureAggregate.project(given().state, given(typedData, made).state, context)
  test.strictSame(holds, [])
  matchExactly(test, rows, [
    {
      table: 'signatures',
      row: {
        signature_id: 'sig_1',
        wallet_id: 'wal_1',
        type: 'typed_data',
        address: COW,
        digest: MAIL_DIGEST,
        signature: MAIL_SIGNATURE,
        signed_at: made.data.signedAt,
        created_at: typedData.data.requestedAt,
      },
    },
  ])
  test.strictSame(signatureAggregate.project(given().state, given(made).state, context).rows, [])
  test.match(signatureAggregate.project(given().state, given(message).state, context).rows[0]?.row, {
    type: 'message',
    signature: null,
    signed_at: null,
  })
})

t.test('a state is folded from any sequence of events without a throw', async (test) => {
  const events = fc.array(fc.constantFrom<SignatureEvent>(message, typedData, made))
  fc.assert(
    fc.property(events, (sequence) => ['unknown', 'message', 'typed_data'].includes(given(...sequence).state.type)),
  )
  test.pass()
})

t.test('only a request for a signature makes a job', async (test) => {
  const job = { queue: 'signature', id: 'sig_1', data: { signature_id: 'sig_1' } }
  for (const type of ['MessageSignatureRequested', 'TypedDataSignatureRequested'])
    test.strictSame(signatureWork.jobsOf({ type, streamId: 'signature-sig_1' }), [job])
  test.strictSame(signatureWork.jobsOf({ type: 'SignatureMade', streamId: 'signature-sig_1' }), [])
})

t.test('a text is signed as its UTF-8 bytes, hex as the bytes it encodes', async (test) => {
  const digest = (bytes: Uint8Array) => `0x${Buffer.from(eip191Digest(bytes)).toString('hex')}`
  test.equal(digest(readMessage('Some data', 'utf8')), message.data.digest)
  test.equal(digest(readMessage('0x536f6d652064617461', 'hex')), message.data.digest)
  test.equal(recoverSigner(message.data.digest, WEB3_SIGNATURE), WEB3.address)
  test.strictSame(readMessage('0x12', 'utf8'), Buffer.from('0x12'))
  test.strictSame(readMessage('Grüße', 'utf8').length, 7)
  test.strictSame([readMessage('', 'utf8').length, readMessage('0x', 'hex').length], [0, 0])
  for (const text of ['', '12', '0x1', '0xzz', '0x12 ', 'Grüße'])
    test.match(
      refusal(() => readMessage(text, 'hex')),
      { field: 'message', code: 'invalid_hex' },
    )
})

t.test('a message is signed up to its limit, in bytes', async (test) => {
  test.equal(readMessage('ü'.repeat(MAX_MESSAGE_BYTES / 2), 'utf8').length, MAX_MESSAGE_BYTES)
  const tooLarge = { field: 'message', code: 'message_too_large', message: /32770 bytes, but at most 32768/ }
  test.match(
    refusal(() => readMessage('ü'.repeat(MAX_MESSAGE_BYTES / 2 + 1), 'utf8')),
    tooLarge,
  )
  test.match(
    refusal(() => readMessage(`0x${'00'.repeat(MAX_MESSAGE_BYTES + 2)}`, 'hex')),
    tooLarge,
  )
})

t.test('a signature is shown with its parts, and without them while there is none', async (test) => {
  const row = {
    ...{ signature_id: 'sig_1', tenant_id: 'acme', wallet_id: 'wal_1', address: COW, type: 'message' as const },
    ...{ digest: MAIL_DIGEST, signature: MAIL_SIGNATURE, created_at: new Date(NOW), signed_at: new Date(NOW) },
  }
  const { tenant_id: _, ...shown } = row
  test.strictSame(toView(row), {
    ...shown,
    status: 'signed',
    r: '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d',
    s: '0x07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562',
    v: 28,
    created_at: NOW,
    signed_at: NOW,
  })
  const pending = { status: 'pending', signature: null, r: null, s: null, v: null, signed_at: null }
  test.match(toView({ ...row, signature: null, signed_at: null }), pending)
})

t.test('a signer is recovered only from 65 bytes with a low s and a v of 27 or 28', async (test) => {
  test.equal(recoverSigner(MAIL_DIGEST, MAIL_SIGNATURE), COW)
  const [r, s] = [MAIL_SIGNATURE.slice(2, 66), MAIL_SIGNATURE.slice(66, 130)]
  const mirrored = (2n * HALF_ORDER + 1n - BigInt(`0x${s}`)).toString(16)
  const others = [
    ...['0x', MAIL_SIGNATURE.slice(0, -2), `${MAIL_SIGNATURE}00`, MAIL_SIGNATURE.toUpperCase(), `0x${r}${s}01`],
    ...[
      `0x${r}${mirrored}1b`,
      `0x${'00'.repeat(32)}${s}1b`,
      `0x${'ff'.repeat(32)}${s}1b`,
      `0x${r}${'00'.repeat(32)}1b`,
    ],
  ]
  for (const other of others) test.equal(recoverSigner(MAIL_DIGEST, other), null, other)
  test.not(recoverSigner(MAIL_DIGEST, `0x${r}${s}1b`), COW)
})

const OPENED = { position: 1n, actor: 'apikey:key_1', recordedAt: NOW }
const problems = { signature: async () => null }

/** The log of one signature, in memory. */
function logOf(...events: readonly SignatureEvent[]) {
  let { state } = given(...events)
  const log = {
    loadChecked: async () => [
      { id: 'sig_1', state, version: 1, hash: '', broken: null, tenantId: 'acme', opened: OPENED },
    ],
    now: () => NOW,
    execute: async (
      aggregate: typeof signatureAggregate,
      id: string,
      command: SignatureCommand,
      { metadata }: never,
    ) => {
      const made = decideOn(aggregate, { id, state, version: 1, hash: '' }, command, { metadata, now: NOW })
      state = made?.after.state ?? state
      return state
    },
  } as unknown as Parameters<typeof signRecorded>[0]['log']
  return { log, signed: () => (state.type === 'unknown' ? null : state.signature) }
}

const key = { kind: 'mpc', keyId: 'k1' } as const
/** The wallet of a request. */
const walletOf =
  ({ data }: SignatureRequested = message) =>
  async (): Promise<SigningWallet> => ({ ...data, type: 'mpc', key, openedFrom: null })

t.test('a signer is given what was recorded, with the intent that it serves', async (test) => {
  const asked: (MessageRequest | TypedDataRequest)[] = []
  const answer = (signature: string) => async (request: MessageRequest | TypedDataRequest) => {
    asked.push(request)
    return signature
  }
  const signer = { signMessage: answer(WEB3_SIGNATURE), signTypedData: answer(MAIL_SIGNATURE) }
  for (const [requested, signature] of [
    [message, WEB3_SIGNATURE],
    [typedData, MAIL_SIGNATURE],
  ] as const) {
    const { log, signed } = logOf(requested)
    const signing = { log, signer, walletOf: walletOf(requested), problems }
    await signRecorded(signing, 'sig_1')
    test.equal(signed(), signature)
    await signRecorded(signing, 'sig_1')
  }
  const intent = { kind: 'signature', id: 'sig_1' }
  test.strictSame(asked, [
    { key, intent, message: Buffer.from('Some data') },
    { key, intent, typedData: typedData.data.typedData },
  ])
})

t.test(
  'bytes that are not a signature of the digest by the address are discarded, and tried again later',
  async (test) => {
    const foreign = new SigningKey(`0x${'01'.repeat(32)}`).sign(message.data.digest).serialized
    const bad = [foreign, MAIL_SIGNATURE, '0x', `${WEB3_SIGNATURE.slice(0, -2)}1b`, WEB3_SIGNATURE.replace('b9', 'b8')]
    for (const signature of bad) {
      const { log, signed } = logOf(message)
      const signer = { signMessage: async () => signature, signTypedData: async () => signature }
      const signing = { log, signer, walletOf: walletOf(), problems }
      await test.rejects(signRecorded(signing, 'sig_1'), { code: 'signature_mismatch', retryable: true })
      test.equal(signed(), null)
    }
    const signer = { signMessage: async () => '', signTypedData: async () => '' }
    const unknown = { log: logOf().log, signer, walletOf: walletOf(), problems }
    await test.rejects(signRecorded(unknown, 'sig_1'), { code: 'signature_not_found' })
  },
)
