/** Signed typed data: the same digest as other libraries, and nothing that they interpret differently. */
import { TypedDataEncoder } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import { ValidationFailed } from '../../src/core/errors.ts'
import { eip712Digest } from '../../src/keys/eip712.ts'
import type { SignedTypedData } from '../../src/signatures/events.ts'
import { MAX_TYPED_DATA_BYTES, readTypedData, type SentTypedData } from '../../src/signatures/read-typed-data.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ANY_TYPED_DATA, MAIL, MAIL_DIGEST } from '../support/typed-data.ts'

const read = (sent: object, chainId = 1) =>
  readTypedData({ primaryTypes: {}, ...MAIL, ...sent } as SentTypedData, chainId)
const digestOf = (typedData: SignedTypedData) => `0x${Buffer.from(eip712Digest(typedData)).toString('hex')}`

/** `field code` of all problems; empty when the data is signed. */
function refused(sent: object, chainId?: number): string[] {
  try {
    read(sent, chainId)
    return []
  } catch (error) {
    if (error instanceof ValidationFailed) return error.items.map(({ field, code }) => `${field} ${code}`)
    throw error
  }
}

/** One type `T` with one field `v` of a type, and a value for it. */
const one = (type: string, v: unknown) => ({ types: { T: [{ name: 'v', type }] }, message: { v } })
const fields = (...types: string[]) => types.map((type, n) => ({ name: `f${n}`, type }))

t.test('the mail of EIP-712 is read as it is published, and has its digest', (t) => {
  const { EIP712Domain: _, ...types } = MAIL.types
  t.strictSame(read({}), { ...MAIL, types })
  t.equal(digestOf(read({})), MAIL_DIGEST)
  t.equal(digestOf(read({ types, primaryTypes: { primaryType: 'Mail', primary_type: 'Mail' } })), MAIL_DIGEST)
  t.end()
})

t.test('valid data have the digest that ethers computes, and are recorded in one form', (t) => {
  fc.assert(
    fc.property(ANY_TYPED_DATA, (sent) => {
      const typedData = read(sent)
      const types = Object.fromEntries(Object.entries(sent.types).map(([name, list]) => [name, [...list]]))
      const stored = JSON.parse(JSON.stringify(typedData)) as SignedTypedData
      const isReadAsItself = canonicalJson(read(stored)) === canonicalJson(stored)
      return isReadAsItself && digestOf(typedData) === TypedDataEncoder.hash(sent.domain, types, sent.message)
    }),
    { numRuns: 100 },
  )
  t.end()
})

t.test('data for another chain is refused, and data that names none is not', (t) => {
  for (const chainId of [137, '137', '0x89', 0]) {
    t.strictSame(refused({ domain: { ...MAIL.domain, chainId } }), ['domain.chainId chain_id_mismatch'])
  }
  const { chainId: _, ...domain } = MAIL.domain
  t.strictSame(
    refused(
      {
        domain,
        types: {
          ...MAIL.types,
          EIP712Domain: fields().concat(MAIL.types.EIP712Domain.filter(({ name }) => name !== 'chainId')),
        },
      },
      137,
    ),
    [],
  )
  t.strictSame(read({ domain: { ...MAIL.domain, chainId: '0x1' } }).domain.chainId, 1)
  t.end()
})

t.test('the domain has fields of the standard alone, at least one, and the type that it is sent with', (t) => {
  const { types, domain } = MAIL
  t.strictSame(refused({ domain: {}, types: { Mail: types.Mail, Person: types.Person } }), ['domain required'])
  t.strictSame(refused({ domain: { ...domain, owner: 'me' } }), ['domain.owner unknown_field'])
  t.strictSame(refused({ domain: { ...domain, name: null } }), ['domain.name wrong_type'])
  t.strictSame(refused({ domain: { ...domain, verifyingContract: '0x12' } }), [
    'domain.verifyingContract invalid_address',
  ])
  t.strictSame(refused({ domain: { ...domain, salt: '0x12' } }), [
    'domain.salt invalid_bytes',
    'types.EIP712Domain domain_mismatch',
  ])
  const mismatched = [
    types.EIP712Domain.toReversed(),
    types.EIP712Domain.slice(1),
    [...types.EIP712Domain, { name: 'salt', type: 'bytes32' }],
    types.EIP712Domain.map(({ name }) => ({ name, type: 'string' })),
    [],
  ]
  for (const EIP712Domain of mismatched)
    t.strictSame(refused({ types: { ...types, EIP712Domain } }), ['types.EIP712Domain domain_mismatch'])
  t.end()
})

t.test('the primary type follows from the types, and may be said but not changed', (t) => {
  t.strictSame(refused({ primaryTypes: { primary_type: 'Person' } }), ['primary_type not_allowed'])
  t.strictSame(refused({ primaryTypes: { primaryType: 'Mail', primary_type: 'Person' } }), ['primary_type not_allowed'])
  t.strictSame(refused({ types: { ...MAIL.types, Extra: fields('bool') } }), ['types unused_type'])
  t.strictSame(refused({ types: { EIP712Domain: MAIL.types.EIP712Domain } }), ['types required'])
  t.end()
})

t.test('types are well-formed: no name and no declaration can read as another', (t) => {
  const types = (T: object[], more: object = {}) => refused({ types: { T, ...more }, message: {} })
  for (const type of ['uint', 'int', 'uint7', 'uint264', 'uint08', 'bytes0', 'bytes33', 'fixed128x18', 'byte', ''])
    t.strictSame(types(fields(type)), ['types.T[0].type invalid_type'], type)
  for (const type of [
    'bool[',
    'bool[]]',
    'bool[0]',
    'bool[01]',
    'bool[-1]',
    '[]bool',
    'bool[x]',
    `bool${'[]'.repeat(9)}`,
  ])
    t.strictSame(types(fields(type)), ['types.T[0].type invalid_type'], type)
  for (const name of ['a b', 'a,uint256 b', 'a)', '', '1a', 'ä', '__proto__'])
    t.strictSame(types([{ name, type: 'bool' }]), ['types.T[0].name invalid_field_name'], name)
  t.strictSame(
    types([
      { name: 'a', type: 'bool' },
      { name: 'a', type: 'string' },
    ]),
    ['types.T[1].name duplicate'],
  )
  t.strictSame(types([]), ['types.T wrong_length'])
  t.strictSame(types(fields(...Array(257).fill('bool'))), ['types.T wrong_length'])
  t.strictSame(types(fields('Preson'), { Person: fields('bool') }), ['types.T[0].type unknown_type'])
  for (const name of ['uint256', 'bytes', 'a b', 'T(bool a)', 'string', 'function', 'int', 'x[]'])
    t.strictSame(refused({ types: { [name]: fields('bool') }, message: {} }), [`types.${name} invalid_type_name`])
  const { items } = thrownBy(() => read(one('uint', 1)))
  t.match(items[0]?.message, /write uint256 for uint/)
  t.end()
})

t.test('recursive types, and types with too many references, are refused before they are walked', (t) => {
  t.strictSame(refused({ types: { A: fields('A[]') }, message: {} }), ['types.A recursive_type'])
  matchExactly(t, refused({ types: { A: fields('B'), B: fields('C'), C: fields('B') }, message: {} }), [
    /recursive_type$/,
  ])
  matchExactly(t, refused({ types: { A: fields('bool'), B: fields('C'), C: fields('B') }, message: {} }), [
    /recursive_type$/,
  ])
  const names = Array.from({ length: 40 }, (_, n) => `T${n}`)
  const dense = Object.fromEntries(names.map((name, n) => [name, fields('bool', ...names.slice(n + 1))]))
  // Walked once for each reference, this would not end.
  t.strictSame(refused({ types: dense, message: {} }), ['types types_too_complex'])
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`T${n}`, fields('bool')]))
  t.strictSame(refused({ types: many, message: {} }), ['types too_many'])
  t.end()
})

t.test('a value must fit its type exactly: nothing is converted, filled in or left out', (t) => {
  const cases: [type: string, values: unknown[], code: string][] = [
    ['bool', ['false', 0, null], 'wrong_type'],
    ['string', [1, null, {}], 'wrong_type'],
    ['address', ['0x12', 'vitalik.eth', 'XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS'], 'invalid_address'],
    ['address', ['0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8dd826'], 'bad_checksum'],
    ['address', [1, null], 'wrong_type'],
    ['bytes', ['0x1', '12', 'text', [1], null], 'invalid_bytes'],
    ['bytes32', ['0x12', `0x${'00'.repeat(33)}`], 'invalid_bytes'],
    ['uint256', [1.5, '1.5', '', '01', '1e3', '0x', true, null, ' 1', {}], 'invalid_integer'],
    ['uint256', [2 ** 53, 1e30], 'unsafe_number'],
    ['uint8', [256, '256', '-1', -1, '0x100'], 'out_of_range'],
    ['int8', [128, '-129'], 'out_of_range'],
    ['uint256', [(2n ** 256n).toString(), `-${2n ** 255n}`], 'out_of_range'],
    ['bool[]', [true, { 0: true, length: 1 }, null], 'wrong_type'],
    ['bool[2]', [[], [true], [true, true, true]], 'wrong_length'],
  ]
  for (const [type, values, code] of cases)
    for (const value of values) t.strictSame(refused(one(type, value)), [`message.v ${code}`], `${type} ${value}`)
  t.strictSame(refused({ types: { T: fields('bool') }, message: {} }), ['message.f0 required'])
  t.strictSame(refused({ ...one('bool', true), message: { v: true, w: 1 } }), ['message.w unknown_field'])
  t.strictSame(refused({ ...one('bool', true), message: [] }), ['message wrong_type'])
  t.end()
})

t.test('every error is reported with its path, up to a hundred', (t) => {
  const message = { from: { nmae: 'Cow', wallet: '0x1' }, to: [], contents: 5 }
  t.strictSame(refused({ message, domain: { ...MAIL.domain, chainId: 2 } }), [
    'domain.chainId chain_id_mismatch',
    'message.from.nmae unknown_field',
    'message.from.name required',
    'message.from.wallet invalid_address',
    'message.to wrong_type',
    'message.contents wrong_type',
  ])
  const { items } = thrownBy(() => read({ message }))
  t.match(items[0]?.message, /did you mean name\?/)
  t.equal(refused(one('bool[]', Array(2_000).fill(1))).length, 100)
  t.end()
})

t.test('data larger than the limits is refused with the figures', (t) => {
  t.strictSame(refused(one('bool[]', Array(2_040).fill(true))), [])
  t.strictSame(refused(one('bool[]', Array(5_000).fill(true))), ['message.v[2043] too_many_values'])
  const { items } = thrownBy(() => read(one('string', 'a'.repeat(MAX_TYPED_DATA_BYTES))))
  matchExactly(t, items, [{ field: 'message', code: 'typed_data_too_large', message: /65536/ }])
  t.strictSame(refused(one('string', 'a'.repeat(MAX_TYPED_DATA_BYTES - 400))), [])
  t.end()
})

function thrownBy(act: () => unknown): ValidationFailed {
  try {
    act()
  } catch (error) {
    if (error instanceof ValidationFailed) return error
    throw error
  }
  throw new Error('nothing was refused')
}
