/** What requests and answers about signatures look like on the wire. */
import { Type } from '@sinclair/typebox'
import { addressSchema, closedObject, idSchema, instantSchema, nullable, oneOf } from '../http/schemas.ts'
import { SIGNATURE_TYPES } from './events.ts'
import { ENCODINGS, MAX_MESSAGE_BYTES } from './read-message.ts'
import { MAX_TYPED_DATA_BYTES } from './read-typed-data.ts'
import { type SignatureView, STATUSES } from './view.ts'

const walletIdSchema = idSchema('wallet', 'The wallet.')
const signatureIdSchema = idSchema('signature', 'The signature.')

export const walletParams = closedObject({ wallet_id: walletIdSchema })
export const signatureParams = closedObject({ wallet_id: walletIdSchema, signature_id: signatureIdSchema })

export const messageBody = closedObject({
  message: Type.String({
    description:
      `What is signed, at most ${MAX_MESSAGE_BYTES} bytes: the text itself, even where it looks like hex; with the encoding hex the ` +
      'bytes that it writes.',
    examples: ['Sign in to example.com\n\nNonce: 7h2k9'],
  }),
  encoding: Type.Optional(
    oneOf(ENCODINGS, { description: 'How `message` writes its bytes: utf8 unless it is given.', examples: ['utf8'] }),
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
    name: typeName('Name of the field.', 'wallet'),
    type: typeName('A type of EIP-712, or one that `types` declares; `[]` and `[2]` make an array of it.', 'address'),
  }),
)

const domainSchema = closedObject(
  {
    name: Type.Optional(Type.String({ description: 'Of the application.', examples: ['Ether Mail'] })),
    version: Type.Optional(Type.String({ description: 'Of the application.', examples: ['1'] })),
    chainId: Type.Optional(
      Type.Unsafe<number | string>({
        type: ['integer', 'string'],
        description: "The wallet's own chain: data for another one is refused.",
        examples: [1],
      }),
    ),
    verifyingContract: Type.Optional({
      ...addressSchema,
      description: 'The contract that will look at the signature.',
    }),
    salt: Type.Optional(
      Type.String({
        description: '32 bytes in hex, for what the others do not tell apart.',
        examples: [`0x${'5a'.repeat(32)}`],
      }),
    ),
  },
  { description: 'Where the signature holds: at least one of these.', minProperties: 1 },
)

export const typedDataBody = closedObject(
  {
    domain: domainSchema,
    types: Type.Unsafe<Record<string, { name: string; type: string }[]>>({
      type: 'object',
      description:
        'The primary type and what it refers to, by name. `EIP712Domain` may stand among them, and must then be the type of `domain`.',
      additionalProperties: declarationsSchema,
      minProperties: 1,
    }),
    primary_type: Type.Optional(
      typeName('It follows from `types`: the one that no other refers to. If it is sent, it must be that.', 'Mail'),
    ),
    primaryType: Type.Optional(typeName('The same, as wallets write it.', 'Mail')),
    message: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description:
        'A value of the primary type: every field of it and no other. Numbers are best sent as decimal strings. Together with types ' +
        `and domain at most ${MAX_TYPED_DATA_BYTES} bytes of JSON.`,
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

/** Of the mail of EIP-712, by the key that the standard signs it with. */
const R = '4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d'
const S = '07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562'

const hex = (description: string, example: string) => Type.String({ description, examples: [`0x${example}`] })

export const signatureSchema = Type.Unsafe<SignatureView>(
  Type.Object({
    signature_id: signatureIdSchema,
    wallet_id: walletIdSchema,
    address: Type.String({
      description: 'Of the wallet: who is recovered from the signature.',
      examples: ['0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826'],
    }),
    type: oneOf(SIGNATURE_TYPES, { description: 'What is signed.', examples: ['typed_data'] }),
    status: oneOf(STATUSES, { description: '`pending` until a signer has signed.', examples: ['signed'] }),
    digest: hex(
      'The 32 bytes that are signed: the Keccak-256 that EIP-191 or EIP-712 names.',
      'be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2',
    ),
    signature: nullable(hex('65 bytes: r, s and v. Null until it is signed, like the three.', `${R}${S}1c`)),
    r: nullable(hex('32 bytes.', R)),
    s: nullable(hex('32 bytes, in the lower half of the order (EIP-2).', S)),
    v: nullable(Type.Integer({ description: '27 or 28.', examples: [28] })),
    created_at: instantSchema,
    signed_at: nullable(instantSchema),
  }),
)
