/** What requests and answers about transfers of tokens look like on the wire. */
import { Type } from '@sinclair/typebox'
import {
  addressSchema,
  closedObject,
  idSchema,
  instantSchema,
  networkSchema,
  nullable,
  oneOf,
} from '../../http/schemas.ts'
import { TRANSFER_TYPES } from './events.ts'
import { type NftTransferView, TRANSFER_STATUSES } from './view.ts'

const tokenIdSchema = Type.String({
  description: 'The number of the token in its collection.',
  examples: ['1'],
  pattern: '^(0|[1-9][0-9]{0,77})$',
  'x-rule': 'must be a token id: decimal digits as text, such as "1"',
  'x-code': 'invalid_token_id',
})

/** Its lower bound is checked where the standard is known. */
const unitsSchema = Type.String({
  description: 'How many units of a token of ERC-1155; 1 unless it is given. A token of ERC-721 is one.',
  examples: ['1'],
  pattern: '^(0|[1-9][0-9]{0,77})$',
  'x-rule': 'must be a whole number as text, such as "5"',
  'x-code': 'invalid_amount',
})

const transferTypeSchema = oneOf(TRANSFER_TYPES, {
  description:
    'STANDARD: one token, the receiver is not asked. SAFE: one token, and a contract that does not take it is refused before ' +
    'anything is sent. BATCH: the tokens in `items`. ERC-1155 asks the receiver in each of them.',
  default: 'STANDARD',
  examples: ['STANDARD'],
})

export const transferBody = closedObject({
  collection_id: idSchema('collection', 'The collection.'),
  from: {
    ...addressSchema,
    description: `The address of your wallet that holds the token: it sends, and pays the gas. ${addressSchema.description}`,
    examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
  },
  token_id: Type.Optional({ ...tokenIdSchema, description: 'The token; not with BATCH.' }),
  to: Type.Optional({ ...addressSchema, description: `Who gets it; not with BATCH. ${addressSchema.description}` }),
  amount: Type.Optional(unitsSchema),
  transfer_type: Type.Optional(transferTypeSchema),
  items: Type.Optional(
    Type.Array(closedObject({ token_id: tokenIdSchema, to: addressSchema, amount: Type.Optional(unitsSchema) }), {
      description: 'With BATCH: up to 100 tokens, each named once.',
      minItems: 1,
      maxItems: 100,
    }),
  ),
})

export const transferParams = closedObject({ transfer_id: idSchema('nftTransfer', 'The transfer.') })

const statusSchema = oneOf(TRANSFER_STATUSES, {
  description: 'CONFIRMED once it is in a block; FAILED once no block can hold it any more.',
  examples: ['PENDING'],
})
const hashSchema = nullable(
  Type.String({ examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'] }),
)

export const transferSchema = Type.Unsafe<NftTransferView>(
  Type.Object({
    transfer_id: idSchema('nftTransfer', 'Names the transfer for ever.'),
    transaction_hash: { ...hashSchema, description: 'Of the first item; null until it is signed.' },
    status: { ...statusSchema, description: 'PENDING as long as an item is; FAILED when any item failed.' },
    estimated_completion: instantSchema,
    collection_id: idSchema('collection', 'The collection.'),
    contract_address: addressSchema,
    network: networkSchema,
    wallet_id: idSchema('wallet', 'The wallet that sends.'),
    from: addressSchema,
    transfer_type: transferTypeSchema,
    items: Type.Array(
      Type.Object({
        token_id: tokenIdSchema,
        to: addressSchema,
        amount: unitsSchema,
        status: statusSchema,
        transaction_id: idSchema('transaction', 'The transaction that moves it; items may share one.'),
        transaction_hash: hashSchema,
        failure: nullable(
          Type.Object({
            code: Type.String({ examples: ['execution_reverted'] }),
            message: Type.String({ examples: ['ERC721IncorrectOwner'] }),
          }),
        ),
      }),
      { description: 'What becomes of each token.' },
    ),
    warnings: Type.Array(
      Type.Object({
        code: Type.String({ examples: ['recipient_cannot_receive'] }),
        message: Type.String({
          examples: ['to is a contract that does not say that it can handle such tokens.'],
        }),
        field: Type.String({ examples: ['to'] }),
      }),
      { description: 'What you may not have meant. The transfer goes on.' },
    ),
    created_at: instantSchema,
  }),
)
