/**
 * Typed data for tests: the example mail of EIP-712, and arbitrary data that a wallet may send, in any notation of its
 * values.
 */
import fc from 'fast-check'
import type { SentTypedData } from '../../src/signatures/read-typed-data.ts'

/** https://eips.ethereum.org/assets/eip-712/Example.js, with the type of its domain, as wallets send it. */
export const MAIL = {
  domain: {
    name: 'Ether Mail',
    version: '1',
    chainId: 1,
    verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
  },
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
}
export const MAIL_DIGEST = '0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2'
export const MAIL_SIGNATURE =
  '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c'
/** keccak256("cow"), the key with which the standard signs it. */
export const COW = '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826'

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
const bytesOf = (least: number, most = least) =>
  fc
    .tuple(fc.uint8Array({ minLength: least, maxLength: most }), fc.boolean())
    .map(([bytes, upper]) => (upper ? `0x${hex(bytes).slice(2).toUpperCase()}` : hex(bytes)))
const integerOf = (min: bigint, max: bigint) =>
  fc.tuple(fc.bigInt({ min, max }), fc.nat(2)).map(([value, form]): string | number => {
    const isSmall = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
    if (form === 0 && isSmall) return Number(value)
    return form === 1 && value >= 0n ? `0x${value.toString(16)}` : value.toString()
  })

/** Types without structs, each with its values. */
const BASES: readonly (readonly [string, fc.Arbitrary<unknown>])[] = [
  ['bool', fc.boolean()],
  ['string', fc.string({ unit: 'binary', maxLength: 20 })],
  ['address', bytesOf(20)],
  ['bytes', bytesOf(0, 40)],
  ['bytes1', bytesOf(1)],
  ['bytes32', bytesOf(32)],
  ['uint8', integerOf(0n, 255n)],
  ['uint256', integerOf(0n, 2n ** 256n - 1n)],
  ['int16', integerOf(-(2n ** 15n), 2n ** 15n - 1n)],
  ['int256', integerOf(-(2n ** 255n), 2n ** 255n - 1n)],
]

type Drawn = { readonly type: string; readonly value: fc.Arbitrary<unknown> }

/** The type itself, or an array of it. */
function perhapsArray({ type, value }: Drawn): fc.Arbitrary<Drawn> {
  return fc.constantFrom(
    { type, value },
    { type: `${type}[]`, value: fc.array(value, { maxLength: 3 }) },
    { type: `${type}[2]`, value: fc.array(value, { minLength: 2, maxLength: 2 }) },
    { type: `${type}[][1]`, value: fc.tuple(fc.array(value, { maxLength: 2 })) },
  )
}

type Struct = { readonly types: SentTypedData['types']; readonly value: fc.Arbitrary<Record<string, unknown>> }

/** A struct of a few fields, one of which has the struct below it, so that each type is used. */
function structAbove(name: string, below: (Struct & { readonly name: string }) | null): fc.Arbitrary<Struct> {
  const plain = fc.constantFrom(...BASES).chain(([type, value]) => perhapsArray({ type, value }))
  const nested = below === null ? plain : perhapsArray({ type: below.name, value: below.value })
  return fc.tuple(nested, fc.array(plain, { maxLength: 4 }), fc.nat(4)).map(([first, others, place]) => {
    const fields = others.toSpliced(place, 0, first).map(({ type, value }, n) => ({ name: `f${n}`, type, value }))
    return {
      types: { ...below?.types, [name]: fields.map(({ name, type }) => ({ name, type })) },
      value: fc.record(Object.fromEntries(fields.map(({ name, value }) => [name, value]))),
    }
  })
}

const DOMAIN = fc
  .record(
    {
      name: fc.string(),
      version: fc.string(),
      chainId: fc.constantFrom<number | string>(1, '1', '0x1'),
      verifyingContract: bytesOf(20),
      salt: bytesOf(32),
    },
    { requiredKeys: [] },
  )
  .filter((domain) => Object.keys(domain).length > 0)

/** Data that matches its types, for a wallet on chain 1. */
export const ANY_TYPED_DATA: fc.Arbitrary<Omit<SentTypedData, 'primaryTypes'>> = structAbove('Inner', null)
  .chain((inner) => structAbove('constructor', { ...inner, name: 'Inner' }))
  .chain((middle) => structAbove('Hyper:Outer$_1', { ...middle, name: 'constructor' }))
  .chain(({ types, value }) => fc.record({ domain: DOMAIN, types: fc.constant(types), message: value }))
