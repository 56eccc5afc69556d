/** What requests and answers about mints and tokens look like on the wire. */
import { type TSchema, Type } from '@sinclair/typebox'
import { type Page, pageSchema } from '../../http/paging.ts'
import { addressSchema, closedObject, idSchema, instantSchema, nullable, oneOf } from '../../http/schemas.ts'
import { failureSchema } from '../collections/schemas.ts'
import { tokenMetadataSchema } from '../metadata/schemas.ts'
import { updateFields } from '../tokens/schemas.ts'
import { voucherSchema } from '../vouchers/schemas.ts'
import { MINTING_TYPES } from './events.ts'
import type { HeldToken } from './read-token.ts'
import { type MintView, TOKEN_STATUSES, type TokenView } from './view.ts'

const MAX_ITEMS = 100

const recipientSchema = {
  ...addressSchema,
  description: 'Who gets the token. A LAZY mint may leave it out: then whoever redeems the voucher says so.',
}
const unitsSchema = Type.String({
  description: 'How many of the token, in an ERC1155 collection: a whole number as text. 1 unless it is sent.',
  examples: ['1'],
  pattern: '^[1-9]\\d{0,77}$',
  'x-rule': 'must be a whole number as text, such as "25": at least 1',
  'x-code': 'invalid_amount',
})
const mintingTypeSchema = oneOf(MINTING_TYPES, {
  description: 'DIRECT: one token now. BATCH: up to 100 at once. LAZY: a voucher now, the token when it is redeemed.',
  default: 'DIRECT',
  examples: ['DIRECT'],
})

const itemSchema = closedObject({
  recipient: recipientSchema,
  metadata: tokenMetadataSchema,
  amount: Type.Optional(unitsSchema),
  edition: Type.Optional(
    Type.Integer({
      description:
        'The edition of a SERIES that the token must become. The mint is refused when it is not the next one. Left out: the ' +
        'next one.',
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      examples: [1],
    }),
  ),
})

const TOKEN = { name: 'Lighthouse #1', image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am' }

export const mintBody = closedObject(
  {
    collection_id: idSchema('collection', 'The collection. It may be DEPLOYING still.'),
    minting_type: Type.Optional(mintingTypeSchema),
    recipient: Type.Optional(recipientSchema),
    metadata: Type.Optional(tokenMetadataSchema),
    amount: Type.Optional(unitsSchema),
    valid_until: Type.Optional({
      ...instantSchema,
      description: 'LAZY: until when the voucher can be redeemed, to the second. Left out: for ever.',
    }),
    items: Type.Optional(
      Type.Array(itemSchema, {
        minItems: 1,
        maxItems: MAX_ITEMS,
        description: 'BATCH: the tokens, in the place of `recipient`, `metadata` and `amount`.',
      }),
    ),
  },
  {
    examples: [
      {
        collection_id: 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11',
        recipient: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        minting_type: 'DIRECT',
        metadata: {
          ...TOKEN,
          description: 'The first of twelve lighthouses.',
          attributes: [{ trait_type: 'Background', value: 'Blue' }],
        },
      },
    ],
  },
)

export const mintParams = closedObject({ mint_id: idSchema('mint', 'The mint.') })

export const tokenParams = closedObject({
  collection_id: idSchema('collection', 'The collection.'),
  token_id: Type.String({ description: 'The token.', pattern: '^[1-9]\\d{0,77}$', examples: ['1'] }),
})

const tokenFields = {
  token_id: Type.String({ description: 'Its number in the collection.', examples: ['1'] }),
  transaction_hash: nullable(
    Type.String({
      description: 'Null until the transaction is signed.',
      examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
    }),
  ),
  owner: nullable({ ...addressSchema, description: 'Who got it when it was minted.' }),
  metadata_uri: Type.String({
    description: 'What the contract gives as its tokenURI.',
    examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
  }),
  status: oneOf(TOKEN_STATUSES, { examples: ['MINTED'] }),
  amount: Type.String({ description: 'Units of the token; 1 in ERC721.', examples: ['1'] }),
  edition: nullable(Type.Integer({ description: 'In a SERIES, its edition number.', examples: [1] })),
  transaction_id: nullable(
    idSchema(
      'transaction',
      "The transaction that mints it; one of the collection's wallet. Of a batch, several tokens have the same.",
    ),
  ),
  failure: failureSchema,
}

/** The first token's fields, as the contract shows them, and the whole. */
export const mintSchema = Type.Unsafe<MintView>(
  Type.Object({
    ...tokenFields,
    status: oneOf(TOKEN_STATUSES, {
      description: 'Of the whole mint: PENDING until the fate of each token is known, FAILED when one of them failed.',
      examples: ['MINTED'],
    }),
    mint_id: idSchema('mint', 'Names the mint for ever.'),
    collection_id: idSchema('collection', 'The collection.'),
    minting_type: mintingTypeSchema,
    voucher: voucherSchema,
    created_at: instantSchema,
    tokens: Type.Array(Type.Object(tokenFields), {
      description: 'Each token with its fate, in the order of the request.',
    }),
  }),
)

export type AcceptedMintView = MintView & { readonly warnings: readonly Warning[] }
export type Warning = { readonly code: string; readonly message: string; readonly field: string }

export const acceptedMintSchema = Type.Unsafe<AcceptedMintView>(
  Type.Object({
    ...(mintSchema as unknown as { properties: Record<string, TSchema> }).properties,
    warnings: Type.Array(
      Type.Object({
        code: Type.String({ examples: ['recipient_cannot_receive'] }),
        message: Type.String({
          examples: ['recipient is a contract that does not say that it can handle such tokens.'],
        }),
        field: Type.String({ examples: ['recipient'] }),
      }),
      { description: 'What you may not have meant. The mint goes on.' },
    ),
  }),
)

const tokenSchema = Type.Unsafe<TokenView>(
  Type.Object({
    ...tokenFields,
    owner: nullable({
      ...addressSchema,
      description:
        'Of a minted token, who holds it now; null when it was burnt, or when several hold it. Before, who gets it.',
    }),
    collection_id: idSchema('collection', 'The collection.'),
    mint_id: idSchema('mint', 'The mint that made it.'),
    created_at: instantSchema,
  }),
)

export const tokenDetailSchema = Type.Unsafe<HeldToken>(
  Type.Object({
    ...(tokenSchema as unknown as { properties: Record<string, TSchema> }).properties,
    ...updateFields,
    metadata: tokenMetadataSchema,
    owners: Type.Array(
      Type.Object({
        owner: addressSchema,
        amount: Type.String({ description: 'Units of the token; 1 in ERC721.', examples: ['1'] }),
      }),
      { description: 'Who holds it, as the newest block says: at most 100, whoever holds most first.' },
    ),
  }),
)

export const tokenPageSchema = Type.Unsafe<Page<'tokens', TokenView>>(pageSchema('tokens', tokenSchema as TSchema))
