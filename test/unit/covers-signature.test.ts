/** Which messages, typed data and vouchers the log covers for a share holder: only the recorded ones. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { upcast } from '../../src/event-log/aggregate.ts'
import type { TypedData } from '../../src/keys/signer.ts'
import { voucherHash, voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { coversVoucher } from '../../src/nft/tokens/covers.ts'
import { mintAggregate } from '../../src/nft/tokens/mint-aggregate.ts'
import type { MintEvent } from '../../src/nft/tokens/mint-events.ts'
import { chainVoucher } from '../../src/nft/tokens/voucher-terms.ts'
import { signatureAggregate } from '../../src/signatures/aggregate.ts'
import { type AskedSignature, coversSignature } from '../../src/signatures/covers.ts'
import type { SignatureEvent } from '../../src/signatures/events.ts'
import { readTypedData } from '../../src/signatures/read-typed-data.ts'
import { ANY_TYPED_DATA } from '../support/typed-data.ts'

const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

function golden<Evt extends { readonly type: string }>(type: Evt['type']): Evt {
  const file = JSON.parse(readFileSync(new URL(`../golden/events/${type}.v1.json`, import.meta.url), 'utf8'))
  const { schemas } = type in mintAggregate.schemas ? mintAggregate : signatureAggregate
  return upcast(schemas as never, type, file.schema_version, file.data) as unknown as Evt
}

const message = golden<Extract<SignatureEvent, { type: 'MessageSignatureRequested' }>>('MessageSignatureRequested')
const typed = golden<Extract<SignatureEvent, { type: 'TypedDataSignatureRequested' }>>('TypedDataSignatureRequested')
const made = golden<SignatureEvent>('SignatureMade')
const { typedData } = typed.data

const fold = (...events: readonly SignatureEvent[]) =>
  events.reduce(signatureAggregate.evolve, signatureAggregate.initialState)

/** The violated rule; `null` when the request is covered. */
const ruleOf = (coverage: ReturnType<typeof coversSignature>) => (coverage.covered ? null : coverage.rule)
const askMessage = (bytes: unknown, address: unknown = message.data.address, ...events: SignatureEvent[]) =>
  ruleOf(
    coversSignature(fold(...(events.length === 0 ? [message] : events)), {
      type: 'message',
      address,
      message: bytes,
    } as AskedSignature),
  )
const askTyped = (data: unknown, address: unknown = typed.data.address, ...events: SignatureEvent[]) =>
  ruleOf(
    coversSignature(fold(...(events.length === 0 ? [typed] : events)), {
      type: 'typed_data',
      address,
      typedData: data,
    } as AskedSignature),
  )

t.test('the recorded message is covered, before its signature and after it', (test) => {
  test.equal(askMessage(Buffer.from('Some data')), null)
  test.equal(
    askMessage(Uint8Array.from(Buffer.from('Some data')), message.data.address.toLowerCase(), message, made),
    null,
  )
  test.end()
})

t.test('another message, another key and another kind are not', (test) => {
  for (const bytes of ['Some dat', 'Some data ', 'some data', '', '0x536f6d652064617461'].map((text) =>
    Buffer.from(text),
  ))
    test.match(askMessage(bytes), /message/)
  for (const bytes of ['Some data', '0x536f6d652064617461', [...Buffer.from('Some data')], null, undefined])
    test.match(askMessage(bytes), /message/)
  for (const address of [OTHER, '', null]) test.match(askMessage(Buffer.from('Some data'), address), /address/)
  test.match(askMessage(Buffer.from('Some data'), typed.data.address, typed), /type typed_data/)
  test.match(askTyped(typedData, message.data.address, message), /type message/)
  test.match(askMessage(Buffer.from('Some data'), message.data.address, made), /no such/)
  const asked = { type: 'transaction', address: message.data.address, message: Buffer.from('Some data') }
  test.match(ruleOf(coversSignature(fold(message), asked as never)), /type message/)
  test.end()
})

t.test('the recorded typed data is covered, in any order of its members', (test) => {
  test.equal(askTyped(typedData), null)
  test.equal(askTyped(JSON.parse(JSON.stringify(typedData)), typed.data.address, typed, made), null)
  const turned = { message: typedData.message, types: typedData.types, domain: typedData.domain, primaryType: 'Mail' }
  test.equal(askTyped(turned), null)
  test.end()
})

t.test('typed data that differs in a value, a field, a type or the domain is not', (test) => {
  const { domain, types, message } = typedData
  const { Mail = [], Person = [] } = types
  const others: unknown[] = [
    { domain, types, message: { ...message, contents: 'Hello, Bob?' } },
    { domain, types, message: { ...message, extra: '1' } },
    { domain, types, message: { ...message, contents: undefined } },
    { domain, types: { Mail, Person: [...Person, { name: 'extra', type: 'bool' }] }, message },
    { domain, types: { Mail, Person: Person.toReversed() }, message },
    { domain, types: { ...types, Extra: [] }, message },
    { domain, types: { Mail: Mail.map((field) => ({ ...field, note: 1 })), Person }, message },
    { domain: { ...domain, chainId: 137 }, types, message },
    { domain: { ...domain, chainId: '1' }, types, message },
    { domain: { ...domain, verifyingContract: OTHER }, types, message },
    { domain: { ...domain, salt: `0x${'00'.repeat(32)}` }, types, message },
    { domain: { name: 'Ether Mail' }, types, message },
    { types, message },
    null,
    undefined,
    'typedData',
    [],
    { domain, types, message: { ...message, contents: 1.5 } },
    { domain, types, message: { ...message, contents: 1n } },
    nestedWithoutEnd(),
  ]
  for (const other of others) test.match(askTyped(other), /typed data/)
  test.match(askTyped(typedData, OTHER), /address/)
  test.end()
})

function nestedWithoutEnd(): object {
  const message: Record<string, unknown> = {}
  message.self = message
  return { ...typedData, message }
}

t.test('typed data for another chain than that of the wallet is not covered even where it is recorded', (test) => {
  const elsewhere: SignatureEvent = { ...typed, data: { ...typed.data, chainId: 137 } }
  test.match(askTyped(typedData, typed.data.address, elsewhere), /another chain/)
  test.end()
})

t.test('any recorded typed data is covered by itself, and by nothing that has another digest', (test) => {
  const property = fc.property(ANY_TYPED_DATA, ANY_TYPED_DATA, (one, two) => {
    const [recorded, asked] = [one, two].map((sent) => readTypedData({ ...sent, primaryTypes: {} }, 1))
    if (recorded === undefined || asked === undefined) return false
    const event: SignatureEvent = { ...typed, data: { ...typed.data, typedData: recorded } }
    const isSame = JSON.stringify(recorded) === JSON.stringify(asked)
    const stored = JSON.parse(JSON.stringify(recorded))
    const address = typed.data.address
    return askTyped(stored, address, event) === null && (askTyped(asked, address, event) === null) === isSame
  })
  fc.assert(property, { numRuns: 50 })
  test.pass()
  test.end()
})

const TERMS = golden<Extract<MintEvent, { type: 'VoucherRequested' }>>('VoucherRequested')

function lazy(recipient: string | null, ...more: readonly MintEvent[]) {
  const { type, data } = golden<Extract<MintEvent, { type: 'MintRecorded' }>>('MintRecorded')
  const tokens = data.tokens.slice(0, 1).map((token) => ({ ...token, recipient, transactionId: null }))
  const recorded: MintEvent = { type, data: { ...data, mintingType: 'LAZY', tokens } }
  return [recorded, TERMS, ...more].reduce(mintAggregate.evolve, mintAggregate.initialState)
}

const TOKEN = golden<Extract<MintEvent, { type: 'MintRecorded' }>>('MintRecorded').data.tokens[0]
if (TOKEN === undefined) throw new Error('the golden mint has no tokens')
const VOUCHER = chainVoucher({ ...TOKEN, recipient: OTHER, validUntil: TERMS.data.validUntil })
const { walletId, chainId, contract } = TERMS.data
const askVoucher = (asked: unknown, state = lazy(OTHER), wallet: unknown = walletId) =>
  ruleOf(coversVoucher(state, { walletId: wallet as string, typedData: asked as TypedData }))

t.test('the voucher of the recorded terms is covered, signed or redeemed as it may be', (test) => {
  const voucher = voucherTypedData(chainId, contract, VOUCHER)
  const redeemed = golden<MintEvent>('VoucherRedemptionRequested')
  test.equal(askVoucher(voucher), null)
  test.equal(askVoucher(JSON.parse(JSON.stringify(voucher))), null)
  test.equal(askVoucher(voucher, lazy(OTHER, golden<MintEvent>('VoucherSigned'), redeemed)), null)
  const forAnybody = voucherTypedData(chainId, contract, { ...VOUCHER, recipient: null })
  test.equal(askVoucher(forAnybody, lazy(null)), null)
  test.equal(askVoucher(forAnybody, lazy(null, redeemed)), null, 'only the redemption names a recipient')
  test.match(askVoucher(voucher, lazy(null, redeemed)), /terms/)
  test.end()
})

t.test('a voucher of other terms, by another key or of no lazy mint is not', (test) => {
  const others = [
    voucherTypedData(chainId, contract, { ...VOUCHER, tokenId: VOUCHER.tokenId + 1n }),
    voucherTypedData(chainId, contract, { ...VOUCHER, recipient: null }),
    voucherTypedData(chainId, contract, { ...VOUCHER, recipient: contract }),
    voucherTypedData(chainId, contract, { ...VOUCHER, amount: VOUCHER.amount + 1n }),
    voucherTypedData(chainId, contract, { ...VOUCHER, digest: `0x${'00'.repeat(32)}` }),
    voucherTypedData(chainId, contract, { ...VOUCHER, validUntil: null }),
    voucherTypedData(chainId, contract, { ...VOUCHER, validUntil: Number(VOUCHER.validUntil) + 1 }),
    voucherTypedData(1, contract, VOUCHER),
    voucherTypedData(chainId, OTHER, VOUCHER),
  ]
  const voucher = voucherTypedData(chainId, contract, VOUCHER)
  for (const other of others) {
    test.match(askVoucher(other), /terms/)
    test.not(voucherHash(other), voucherHash(voucher))
  }
  const { domain, types, message } = voucher
  const permit = { owner: OTHER, spender: OTHER, value: '1', nonce: '0', deadline: '0' }
  for (const other of [
    { domain, types, message: { ...message, extra: '1' } },
    { domain, types: { Permit: types.Voucher }, message },
    { domain: { ...domain, name: 'USD Coin' }, types, message },
    { domain, types, message: permit },
    null,
  ])
    test.match(askVoucher(other), /terms/)
  for (const wallet of ['wal_2', '', null]) test.match(askVoucher(voucher, lazy(OTHER), wallet), /wallet/)
  const direct = mintAggregate.evolve(mintAggregate.initialState, golden<MintEvent>('MintRecorded'))
  test.match(askVoucher(voucher, direct), /no voucher/)
  test.match(askVoucher(voucher, mintAggregate.initialState), /does not have this mint/)
  test.end()
})

t.test('a voucher that was recorded as plain typed data is not covered', (test) => {
  const terms = { tokenId: 1n, recipient: null, amount: 1n, digest: `0x${'2e'.repeat(32)}`, validUntil: null }
  const { domain, types, message: voucher } = voucherTypedData(typed.data.chainId, OTHER, terms)
  const data = { ...typed.data, typedData: { domain, types, message: voucher } }
  const asked = askTyped(data.typedData, data.address, { type: typed.type, data } as SignatureEvent)
  test.match(asked, /collection/)
  test.end()
})
