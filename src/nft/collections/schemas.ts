/** What requests and answers about collections look like on the wire. */
import { type TSchema, Type } from '@sinclair/typebox'
import { MAX_SUPPLY_LIMIT } from '../../chain/nft-collection.ts'
import { type Page, pageSchema } from '../../http/paging.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  idSchema,
  instantSchema,
  multilineText,
  networkSchema,
  nullable,
  oneOf,
  text,
} from '../../http/schemas.ts'
import { collectionMetadataSchema } from '../metadata/schemas.ts'
import { COLLECTION_TYPES, STANDARDS } from './events.ts'
import { COLLECTION_STATUSES, type CollectionView } from './view.ts'

const nameSchema = text(128, { minLength: 1, description: 'The name of the collection.', examples: ['Lighthouses'] })
const symbolSchema = text(32, { minLength: 1, description: 'Its short name.', examples: ['LIGHT'] })
const descriptionSchema = multilineText(4_000, { description: 'What it is.', examples: ['Twelve lighthouses.'] })
const standardSchema = oneOf(STANDARDS, {
  description: 'ERC721: each token is unique. ERC1155: there may be many of a token.',
  default: 'ERC721',
  examples: ['ERC721'],
})
const typeSchema = oneOf(COLLECTION_TYPES, {
  description:
    'STANDARD: metadata never changes. SERIES: tokens are released in sequence and have edition numbers. DYNAMIC: metadata may ' +
    'be changed until it is frozen.',
  default: 'STANDARD',
  examples: ['STANDARD'],
})
const royaltySchema = Type.Number({
  description: 'What a sale gives to the royalty recipient (ERC-2981): 0 to 50, with at most 2 decimals.',
  minimum: 0,
  maximum: 50,
  multipleOf: 0.01,
  examples: [2.5],
  'x-rule': 'must be a number from 0 to 50 with at most 2 decimals, such as 2.5',
  'x-code': 'invalid_royalty',
})
const maxSupplySchema = Type.Integer({
  description: 'How many token ids may ever be minted. Without it there is no limit.',
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
      description: 'The chain; that of the wallet, where a wallet is named, and ethereum otherwise.',
    }),
    wallet_id: Type.Optional(
      idSchema(
        'wallet',
        'The wallet that owns the contract and pays for it. Without it your issuer wallet, which is made on first use.',
      ),
    ),
    collection_type: Type.Optional(typeSchema),
    max_supply: Type.Optional(maxSupplySchema),
    transferable: Type.Optional(
      Type.Boolean({ description: 'False: tokens stay with who got them (ERC-5192).', default: true }),
    ),
    royalty_recipient: Type.Optional({
      ...addressSchema,
      description: 'Who gets royalties; the owner unless it is named.',
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

export const collectionParams = closedObject({ collection_id: idSchema('collection', 'The collection.') })

export const listQuery = {
  network: Type.Optional({ ...networkSchema, description: 'Those on this chain.' }),
  standard: Type.Optional(oneOf(STANDARDS, { description: 'Those of this standard.', examples: ['ERC721'] })),
  collection_type: Type.Optional(oneOf(COLLECTION_TYPES, { description: 'Those of this type.', examples: ['SERIES'] })),
  wallet_id: Type.Optional(idSchema('wallet', 'Those that this wallet owns.')),
}

const hashSchema = Type.String({ examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'] })
const uriSchema = Type.String({ examples: ['https://example.com/lighthouses'] })

export const failureSchema = nullable(
  Type.Object(
    {
      code: Type.String({ examples: ['execution_reverted'] }),
      message: Type.String({ examples: ['MaxSupplyExceeded(total: 11, maxSupply: 10)'] }),
    },
    { description: 'Why the transaction failed.' },
  ),
)

export const collectionSchema = Type.Unsafe<CollectionView>(
  Type.Object({
    collection_id: idSchema('collection', 'Names the collection for ever.'),
    contract_address: { ...addressSchema, description: 'Where the contract stands, or will stand.' },
    name: nameSchema,
    symbol: symbolSchema,
    standard: standardSchema,
    network: networkSchema,
    created_at: instantSchema,
    status: oneOf(COLLECTION_STATUSES, {
      description: 'A collection that is DEPLOYING takes mints already: they wait for it.',
      examples: ['DEPLOYED'],
    }),
    transaction_id: idSchema('transaction', 'The transaction that deploys the contract; a transaction of `wallet_id`.'),
    transaction_hash: nullable(hashSchema),
    environment: environmentSchema,
    description: nullable(descriptionSchema),
    metadata: Type.Object({ external_url: nullable(uriSchema), image: nullable(uriSchema) }),
    metadata_uri: Type.String({
      description: 'What the contract gives as its contractURI (ERC-7572).',
      examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    }),
    collection_type: typeSchema,
    wallet_id: idSchema('wallet', 'The wallet that owns the contract. Every mint is sent from it.'),
    owner: { ...addressSchema, description: 'Address of that wallet.' },
    royalty_percentage: royaltySchema,
    royalty_recipient: nullable(addressSchema),
    max_supply: nullable(maxSupplySchema),
    transferable: Type.Boolean(),
    failure: failureSchema,
  }),
)

export const collectionPageSchema = Type.Unsafe<Page<'collections', CollectionView>>(
  pageSchema('collections', collectionSchema as TSchema),
)
