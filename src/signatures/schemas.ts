/** Schemas of the requests and responses about signatures. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { addressSchema, closedObject, idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { SIGNATURE_TYPES } from './events.ts'
import { ENCODINGS, MAX_MESSAGE_BYTES } from './read-message.ts'
import { MAX_TYPED_DATA_BYTES } from './read-typed-data.ts'

const walletIdSchema = idSchema('wal', 'The id of the wallet.')
const signatureIdSchema = idSchema('sig', 'The id of the signature.')

export const walletParams = closedObject({ wallet_id: walletIdSchema })
export const signatureParams = closedObject({ wallet_id: walletIdSchema, signature_id: signatureIdSchema })

export const messageBody = closedObject({
  message: Type.String({
    description:
      `The message, at most ${MAX_MESSAGE_BYTES} bytes. With the encoding \`utf8\` the text is signed, even if it looks like hex. With ` +
      'the encoding `hex` the decoded bytes are signed.',
    examples: ['Sign in to example.com\n\nNonce: 7h2k9'],
  }),
  encoding: Type.Optional(
    oneOf(ENCODINGS, { description: 'The encoding of `message`. The default is `utf8`.', examples: ['utf8'] }),
  ),
})

const PERSON = [
  { name: 'name', type: 'string' },
  { name: 'wallet', type: 'address' },
]

const typeName = (description: string, example: string) =>
  Type.String({ description, minLength: 1, maxLength: 128, examples: [example] })

const declarationsSchema = Type.Array(
  closedObject({
    name: typeName('The name of the field.', 'wallet'),
    type: typeName(
      'The type of the field: an EIP-712 type or one from `types`. `[]` and `[2]` make an array.',
      'address',
    ),
  }),
)

const domainSchema = closedObject(
  {
    name: Type.Optional(Type.String({ description: 'The name of the application.', examples: ['Ether Mail'] })),
    version: Type.Optional(Type.String({ description: 'The version of the application.', examples: ['1'] })),
    chainId: Type.Optional(
      Type.Unsafe<number | string>({
        type: ['integer', 'string'],
        description: 'The chain id. It must be the chain of the wallet.',
        examples: [1],
      }),
    ),
    verifyingContract: Type.Optional({
      ...addressSchema,
      description: 'The contract that verifies the signature.',
    }),
    salt: Type.Optional(
      Type.String({
        description: '32 bytes in hex that separate domains whose other fields are equal.',
        examples: [`0x${'5a'.repeat(32)}`],
      }),
    ),
  },
  { description: 'The domain of the signature. It needs at least one of these fields.', minProperties: 1 },
)

export const typedDataBody = closedObject(
  {
    domain: domainSchema,
    types: Type.Unsafe<Record<string, { name: string; type: string }[]>>({
      type: 'object',
      description:
        'The primary type and the types that it refers to, by name. `EIP712Domain` is optional. If present, it must match `domain`.',
      additionalProperties: declarationsSchema,
      minProperties: 1,
    }),
    primary_type: Type.Optional(
      typeName(
        'The primary type. By default it is the type that no other type refers to. If sent, it must be that type.',
        'Mail',
      ),
    ),
    primaryType: Type.Optional(typeName('The same as `primary_type`, as `eth_signTypedData_v4` writes it.', 'Mail')),
    message: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description:
        'A value of the primary type, with all of its fields and no others. Send numbers as decimal strings. The message, the types ' +
        `and the domain have at most ${MAX_TYPED_DATA_BYTES} bytes of JSON together.`,
      additionalProperties: true,
    }),
  },
  {
    examples: [
      {
        domain: { name: 'Ether Mail', version: '1' },
        types: {
          Person: PERSON,
          Mail: [
            { name: 'from', type: 'Person' },
            { name: 'to', type: 'Person' },
            { name: 'contents', type: 'string' },
          ],
        },
        primary_type: 'Mail',
        message: {
          from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
          to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
          contents: 'Hello, Bob!',
        },
      },
    ],
  },
)

/** The example mail of EIP-712, signed with the standard's own key. */
const R = '4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d'
const S = '07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562'

const hex = (description: string, example: string) => Type.String({ description, examples: [`0x${example}`] })

export const signatureSchema = named(
  'Signature',
  Type.Object({
    signature_id: signatureIdSchema,
    wallet_id: walletIdSchema,
    address: Type.String({
      description: 'The address of the wallet. It is the address that is recovered from the signature.',
      examples: ['0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826'],
    }),
    type: oneOf(SIGNATURE_TYPES, {
      description: 'What is signed: a message or typed data.',
      examples: ['typed_data'],
    }),
    status: oneOf(['pending', 'signed'], { description: '`pending` until it is signed.', examples: ['signed'] }),
    digest: hex(
      'The 32 bytes that are signed: the Keccak-256 digest of EIP-191 or EIP-712.',
      'be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2',
    ),
    signature: nullable(hex('The signature, 65 bytes: r, s and v. Null until it is signed.', `${R}${S}1c`)),
    r: nullable(hex('The r value, 32 bytes. Null until it is signed.', R)),
    s: nullable(
      hex('The s value, 32 bytes, in the lower half of the curve order (EIP-2). Null until it is signed.', S),
    ),
    v: nullable(Type.Integer({ description: 'The v value, 27 or 28. Null until it is signed.', examples: [28] })),
    created_at: instant('When the signature was requested.'),
    signed_at: nullable(instant('When it was signed. Null until then.')),
  }),
)
