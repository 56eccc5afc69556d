/** Schemas of the requests and responses about collections. */

import { Type } from '@sinclair/typebox'
import { named } from '../../http/components.ts'
import { pageSchema } from '../../http/paging.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  failure,
  idSchema,
  instant,
  multilineText,
  networkSchema,
  nullable,
  oneOf,
  text,
} from '../../http/schemas.ts'
import { MAX_SUPPLY_LIMIT } from '../contracts/collection.ts'
import { collectionMetadataSchema } from '../metadata/schemas.ts'
import { COLLECTION_TYPES, STANDARDS } from './events.ts'

const nameSchema = text(128, { minLength: 1, description: 'The name of the collection.', examples: ['Lighthouses'] })
const symbolSchema = text(32, { minLength: 1, description: 'The symbol of the collection.', examples: ['LIGHT'] })
const descriptionSchema = multilineText(4_000, {
  description: 'A description of the collection.',
  examples: ['Twelve lighthouses.'],
})
const standardSchema = oneOf(STANDARDS, {
  description: '`ERC721`: each token is unique. `ERC1155`: a token can have many units.',
  default: 'ERC721',
  examples: ['ERC721'],
})
const typeSchema = oneOf(COLLECTION_TYPES, {
  description:
    '`STANDARD`: metadata never changes. `SERIES`: tokens are released in sequence and have edition numbers. `DYNAMIC`: metadata ' +
    'can be updated until it is frozen.',
  default: 'STANDARD',
  examples: ['STANDARD'],
})
const royaltySchema = Type.Number({
  description: 'The share of a sale for the royalty recipient in percent (ERC-2981): 0 to 50, with at most 2 decimals.',
  minimum: 0,
  maximum: 50,
  multipleOf: 0.01,
  examples: [2.5],
  'x-rule': 'must be a number from 0 to 50 with at most 2 decimals, such as 2.5',
  'x-code': 'invalid_royalty',
})
const maxSupplySchema = Type.Integer({
  description: 'How many token ids can be minted in total. There is no limit by default.',
  minimum: 1,
  maximum: MAX_SUPPLY_LIMIT,
  examples: [10_000],
})

export const createBody = closedObject(
  {
    name: nameSchema,
    symbol: symbolSchema,
    description: Type.Optional(descriptionSchema),
    standard: Type.Optional(standardSchema),
    royalty_percentage: Type.Optional(royaltySchema),
    metadata: Type.Optional(collectionMetadataSchema),
    network: Type.Optional({
      ...networkSchema,
      description: 'The network. The default is the network of the wallet if `wallet_id` is sent, otherwise ethereum.',
    }),
    wallet_id: Type.Optional(
      idSchema(
        'wal',
        'The wallet that owns the contract and pays for it. The default is your issuer wallet, which is created on first use.',
      ),
    ),
    collection_type: Type.Optional(typeSchema),
    max_supply: Type.Optional(maxSupplySchema),
    transferable: Type.Optional(
      Type.Boolean({
        description: 'Whether tokens can be transferred after their mint. If false, they are locked (ERC-5192).',
        default: true,
      }),
    ),
    royalty_recipient: Type.Optional({
      ...addressSchema,
      description: 'The address that receives royalties. The default is the owner.',
    }),
  },
  {
    examples: [
      {
        name: 'Lighthouses',
        symbol: 'LIGHT',
        description: 'Twelve lighthouses.',
        standard: 'ERC721',
        royalty_percentage: 2.5,
        metadata: {
          external_url: 'https://example.com/lighthouses',
          image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am',
        },
      },
    ],
  },
)

export const collectionParams = closedObject({ collection_id: idSchema('col', 'The id of the collection.') })

export const listQuery = {
  network: Type.Optional({ ...networkSchema, description: 'Only collections on this network.' }),
  standard: Type.Optional(
    oneOf(STANDARDS, { description: 'Only collections of this standard.', examples: ['ERC721'] }),
  ),
  collection_type: Type.Optional(
    oneOf(COLLECTION_TYPES, { description: 'Only collections of this type.', examples: ['SERIES'] }),
  ),
  wallet_id: Type.Optional(idSchema('wal', 'Only collections that this wallet owns.')),
}

const hashSchema = Type.String({
  description: 'The hash of the transaction. Null until it is signed.',
  examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
})
export const failureSchema = nullable(
  failure('Why the transaction failed. Null unless it did.', {
    code: 'execution_reverted',
    message: 'MaxSupplyExceeded(total: 11, maxSupply: 10)',
  }),
)

export const collectionSchema = named(
  'NftCollection',
  Type.Object({
    collection_id: idSchema('col', 'The id of the collection. It never changes.'),
    contract_address: {
      ...addressSchema,
      description: 'The address of the contract. It is known before the contract is deployed.',
    },
    name: nameSchema,
    symbol: symbolSchema,
    standard: standardSchema,
    network: networkSchema,
    created_at: instant('When the collection was requested.'),
    status: oneOf(['DEPLOYING', 'DEPLOYED', 'FAILED'], {
      description: 'The status of the contract. You can request mints while it is `DEPLOYING`: they wait for it.',
      examples: ['DEPLOYED'],
    }),
    transaction_id: idSchema('tx', 'The transaction that deploys the contract, sent from `wallet_id`.'),
    transaction_hash: nullable(hashSchema),
    environment: environmentSchema,
    description: nullable(descriptionSchema),
    metadata: Type.Object(
      {
        external_url: nullable(
          Type.String({
            description: 'A web page about the collection. Null for none.',
            examples: ['https://example.com/lighthouses'],
          }),
        ),
        image: nullable(
          Type.String({
            description: 'The image. Null for none.',
            examples: ['https://example.com/lighthouses'],
          }),
        ),
      },
      { description: 'What marketplaces show about the collection.' },
    ),
    metadata_uri: Type.String({
      description: 'The URI of the metadata of the collection: the `contractURI` of the contract (ERC-7572).',
      examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    }),
    collection_type: typeSchema,
    wallet_id: idSchema('wal', 'The wallet that owns the contract. Every mint is sent from it.'),
    owner: { ...addressSchema, description: 'The address of the wallet that owns the contract.' },
    royalty_percentage: royaltySchema,
    royalty_recipient: nullable({
      ...addressSchema,
      description: 'The address that receives royalties. Null without royalties.',
    }),
    max_supply: nullable(maxSupplySchema),
    transferable: Type.Boolean({ description: 'Whether tokens can be transferred after their mint.' }),
    failure: failureSchema,
  }),
)

export const collectionPageSchema = named('NftCollectionPage', pageSchema('collections', collectionSchema))
