/** Schemas of the requests and responses about mints and tokens. */

import { Type } from '@sinclair/typebox'
import { named, withShapes } from '../../http/components.ts'
import { pageSchema } from '../../http/paging.ts'
import { addressSchema, closedObject, idSchema, instant, nullable, oneOf, warnings } from '../../http/schemas.ts'
import { failureSchema } from '../collections/schemas.ts'
import { tokenMetadataSchema } from '../metadata/schemas.ts'
import { MINTING_TYPES } from './mint-events.ts'
import { updateFields } from './update-schemas.ts'
import { voucherSchema } from './voucher-schemas.ts'

const MAX_ITEMS = 100

const recipientSchema = {
  ...addressSchema,
  description:
    'The address that receives the token. Optional for a LAZY mint: if omitted, the redeemer of the voucher chooses.',
}
const unitsSchema = Type.String({
  description: 'How many units of the token, in an ERC1155 collection: a whole number as a string. The default is 1.',
  examples: ['1'],
  pattern: '^[1-9]\\d{0,77}$',
  'x-rule': 'must be a whole number as text, such as "25": at least 1',
  'x-code': 'invalid_amount',
})
const mintingTypeSchema = oneOf(MINTING_TYPES, {
  description:
    '`DIRECT`: one token now. `BATCH`: up to 100 tokens. `LAZY`: a voucher now, and the token when it is redeemed.',
  default: 'DIRECT',
  examples: ['DIRECT'],
})

const itemSchema = named(
  'NftMintItemInput',
  closedObject({
    recipient: recipientSchema,
    metadata: tokenMetadataSchema,
    amount: Type.Optional(unitsSchema),
    edition: Type.Optional(
      Type.Integer({
        description:
          'The edition number that the token must get in a SERIES. The mint is refused if it is not the next one. The default is the ' +
          'next one.',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        examples: [1],
      }),
    ),
  }),
)

const TOKEN = { name: 'Lighthouse #1', image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am' }

const mintFields = closedObject(
  {
    collection_id: idSchema('col', 'The id of the collection. It can still be `DEPLOYING`.'),
    minting_type: Type.Optional(mintingTypeSchema),
    recipient: Type.Optional(recipientSchema),
    metadata: Type.Optional(tokenMetadataSchema),
    amount: Type.Optional(unitsSchema),
    valid_until: Type.Optional(
      instant(
        'Only for LAZY: the voucher can be redeemed until this time, to the second. There is no limit by default.',
      ),
    ),
    items: Type.Optional(
      Type.Array(itemSchema, {
        minItems: 1,
        maxItems: MAX_ITEMS,
        description: 'Only for BATCH: the tokens, instead of `recipient`, `metadata` and `amount`.',
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

/** `readItems` checks the shapes, because some of its rules depend on the collection. */
export const mintBody = withShapes(named('MintNftRequest', mintFields), {
  by: 'minting_type',
  byDefault: 'DIRECT',
  shapes: [
    {
      name: 'DirectMintRequest',
      description: 'Mints one token now.',
      value: 'DIRECT',
      required: ['recipient', 'metadata'],
      optional: ['amount'],
    },
    {
      name: 'BatchMintRequest',
      description: 'Mints up to 100 tokens.',
      value: 'BATCH',
      required: ['items'],
      optional: [],
    },
    {
      name: 'LazyMintRequest',
      description: 'Signs a voucher, with which the token can be minted later.',
      value: 'LAZY',
      required: ['metadata'],
      optional: ['recipient', 'amount', 'valid_until'],
    },
  ],
})

export const mintParams = closedObject({ mint_id: idSchema('mint', 'The id of the mint.') })

export const tokenParams = closedObject({
  collection_id: idSchema('col', 'The id of the collection.'),
  token_id: Type.String({
    description: 'The id of the token in its collection.',
    pattern: '^[1-9]\\d{0,77}$',
    examples: ['1'],
  }),
})

const OUTCOMES = ['AS_REQUESTED', 'BY_HOLDER'] as const
const STATUSES = ['PENDING', 'MINTED', 'LAZY', 'REVOKED', 'FAILED'] as const

const tokenFields = {
  token_id: Type.String({ description: 'The id of the token in its collection.', examples: ['1'] }),
  transaction_hash: nullable(
    Type.String({
      description: 'The hash of the transaction that mints the token, whoever sent it. Null until it is signed.',
      examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
    }),
  ),
  owner: nullable({
    ...addressSchema,
    description: 'The address that received the token when it was minted. Null if a voucher names no recipient.',
  }),
  metadata_uri: Type.String({
    description: 'The URI of the metadata: the `tokenURI` (ERC721) or `uri` (ERC1155) of the contract.',
    examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
  }),
  status: oneOf(STATUSES, { description: 'The status of the token.', examples: ['MINTED'] }),
  outcome: nullable(
    oneOf(OUTCOMES, {
      description:
        'How the token was minted: `AS_REQUESTED`, to the recipient of the mint or of its redemption, or `BY_HOLDER`: a holder of the ' +
        'voucher redeemed it for an address that no request named. Null until it is minted.',
      examples: ['AS_REQUESTED'],
    }),
  ),
  amount: Type.String({ description: 'How many units of the token. Always 1 for ERC721.', examples: ['1'] }),
  edition: nullable(
    Type.Integer({
      description: 'The edition number in a SERIES. Null for other collections and for a failed token.',
      examples: [1],
    }),
  ),
  transaction_id: nullable(
    idSchema(
      'tx',
      "The transaction that mints the token, sent from the collection's wallet. Tokens of a batch can share one. Null of a voucher that " +
        'is not redeemed, or that a holder redeemed.',
    ),
  ),
  failure: failureSchema,
}

/** The first token's fields, as the contract returns them, and the whole mint. */
export const mintSchema = named(
  'NftMint',
  Type.Object({
    ...tokenFields,
    status: oneOf(STATUSES, {
      description:
        'The status of the whole mint: `PENDING` until the outcome of each token is known, `FAILED` if one of them failed.',
      examples: ['MINTED'],
    }),
    mint_id: idSchema('mint', 'The id of the mint. It never changes.'),
    collection_id: idSchema('col', 'The id of the collection.'),
    minting_type: mintingTypeSchema,
    voucher: voucherSchema,
    created_at: instant('When the mint was requested.'),
    tokens: Type.Array(Type.Object(tokenFields), {
      description: 'Each token with its status, in the order of the request.',
    }),
  }),
)

export const acceptedMintSchema = named(
  'AcceptedNftMint',
  Type.Object({
    ...mintSchema.properties,
    warnings: warnings('Possible mistakes. They do not stop the mint.', {
      code: 'recipient_cannot_receive',
      message: 'recipient is a contract that does not declare support for these tokens.',
      field: 'recipient',
    }),
  }),
)

export const tokenSchema = named(
  'NftToken',
  Type.Object({
    ...tokenFields,
    owner: nullable({
      ...addressSchema,
      description:
        'The address that holds the token now. Null if it was burnt or if several addresses hold it. Before the mint, its recipient.',
    }),
    collection_id: idSchema('col', 'The id of the collection.'),
    mint_id: idSchema('mint', 'The id of the mint that created the token.'),
    created_at: instant('When the token was requested.'),
  }),
)

export const tokenDetailSchema = named(
  'NftTokenDetail',
  Type.Object({
    ...tokenSchema.properties,
    ...updateFields,
    metadata: tokenMetadataSchema,
    owners: Type.Array(
      Type.Object({
        owner: { ...addressSchema, description: 'An address that holds the token.' },
        amount: Type.String({ description: 'How many units of the token. Always 1 for ERC721.', examples: ['1'] }),
      }),
      {
        description: 'The addresses that hold the token as of the newest block: at most 100, the largest holder first.',
      },
    ),
  }),
)

export const tokenPageSchema = named('NftTokenPage', pageSchema('tokens', tokenSchema))
