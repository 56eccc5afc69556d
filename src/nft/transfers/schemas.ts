/** Schemas of the requests and responses about token transfers. */

import { Type } from '@sinclair/typebox'
import { named, withShapes } from '../../http/components.ts'
import {
  addressSchema,
  closedObject,
  failure,
  idSchema,
  instant,
  networkSchema,
  nullable,
  oneOf,
  warnings,
} from '../../http/schemas.ts'
import { TRANSFER_TYPES } from './events.ts'

const tokenIdSchema = Type.String({
  description: 'The id of the token in its collection.',
  examples: ['1'],
  pattern: '^(0|[1-9][0-9]{0,77})$',
  'x-rule': 'must be a token id: decimal digits as text, such as "1"',
  'x-code': 'invalid_token_id',
})

/** Its minimum depends on the standard and is checked later. */
const unitsSchema = Type.String({
  description: 'How many units of an ERC1155 token. The default is 1. Always 1 for ERC721.',
  examples: ['1'],
  pattern: '^(0|[1-9][0-9]{0,77})$',
  'x-rule': 'must be a whole number as text, such as "5"',
  'x-code': 'invalid_amount',
})

const transferTypeSchema = oneOf(TRANSFER_TYPES, {
  description:
    '`STANDARD`: one token; the contract of the recipient is not called. `SAFE`: one token; refused before anything is sent if ' +
    'the recipient is a contract that does not accept it. `BATCH`: the tokens in `items`. With ERC1155 the contract of the ' +
    'recipient is always called.',
  default: 'STANDARD',
  examples: ['STANDARD'],
})

const recipientSchema = { ...addressSchema, description: `The recipient. ${addressSchema.description}` }

const transferFields = closedObject(
  {
    collection_id: idSchema('col', 'The id of the collection.'),
    from: {
      ...addressSchema,
      description: `The address of your wallet that holds the token. It sends the transaction and pays the gas. ${addressSchema.description}`,
      examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
    },
    token_id: Type.Optional({ ...tokenIdSchema, description: 'The id of the token. Not allowed with BATCH.' }),
    to: Type.Optional({
      ...addressSchema,
      description: `The recipient. Not allowed with BATCH. ${addressSchema.description}`,
    }),
    amount: Type.Optional(unitsSchema),
    transfer_type: Type.Optional(transferTypeSchema),
    items: Type.Optional(
      Type.Array(closedObject({ token_id: tokenIdSchema, to: recipientSchema, amount: Type.Optional(unitsSchema) }), {
        description: 'Required with BATCH: up to 100 tokens, each at most once. Not allowed with the other types.',
        minItems: 1,
        maxItems: 100,
      }),
    ),
  },
  {
    examples: [
      {
        collection_id: 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11',
        from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        token_id: '1',
        to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        transfer_type: 'STANDARD',
      },
    ],
  },
)

const single = { required: ['token_id', 'to'], optional: ['amount'] }

/** The route checks the shapes, so that an error names the type with which a field is not allowed. */
export const transferBody = withShapes(named('TransferNftRequest', transferFields), {
  by: 'transfer_type',
  byDefault: 'STANDARD',
  shapes: [
    {
      name: 'StandardNftTransferRequest',
      description: 'Transfers one token. With ERC721 the contract of the recipient is not called.',
      value: 'STANDARD',
      ...single,
    },
    {
      name: 'SafeNftTransferRequest',
      description: 'Transfers one token. Refused if the recipient is a contract that does not accept it.',
      value: 'SAFE',
      ...single,
    },
    {
      name: 'BatchNftTransferRequest',
      description: 'Transfers up to 100 tokens.',
      value: 'BATCH',
      required: ['items'],
      optional: [],
    },
  ],
})

export const transferParams = closedObject({ transfer_id: idSchema('nftx', 'The id of the transfer.') })

const statusSchema = oneOf(['PENDING', 'CONFIRMED', 'FAILED'], {
  description: '`CONFIRMED` when it is in a block. `FAILED` when it has failed and no later block can change that.',
  examples: ['PENDING'],
})
const hashSchema = nullable(
  Type.String({
    description: 'The hash of the transaction. Null until it is signed.',
    examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
  }),
)

export const transferSchema = named(
  'NftTransfer',
  Type.Object({
    transfer_id: idSchema('nftx', 'The id of the transfer. It never changes.'),
    transaction_hash: {
      ...hashSchema,
      description: 'The hash of the transaction of the first item. Null until it is signed.',
    },
    status: { ...statusSchema, description: '`PENDING` while any item is. `FAILED` if any item failed.' },
    estimated_completion: instant('When the transfer is expected to be final.'),
    collection_id: idSchema('col', 'The id of the collection.'),
    contract_address: { ...addressSchema, description: 'The contract of the collection.' },
    network: networkSchema,
    wallet_id: idSchema('wal', 'The id of the wallet that sends.'),
    from: { ...addressSchema, description: 'The address of the wallet that sends.' },
    transfer_type: transferTypeSchema,
    items: Type.Array(
      Type.Object({
        token_id: tokenIdSchema,
        to: { ...addressSchema, description: 'The recipient.' },
        amount: unitsSchema,
        status: statusSchema,
        transaction_id: idSchema('tx', 'The transaction that moves the token. Items can share one.'),
        transaction_hash: hashSchema,
        failure: nullable(
          failure('Why the item failed. Null unless it did.', {
            code: 'execution_reverted',
            message: 'ERC721IncorrectOwner',
          }),
        ),
      }),
      { description: 'Each token with its status.' },
    ),
    warnings: warnings('Possible mistakes. They do not stop the transfer.', {
      code: 'recipient_cannot_receive',
      message: 'to is a contract that does not declare support for these tokens.',
      field: 'to',
    }),
    created_at: instant('When the transfer was requested.'),
  }),
)
