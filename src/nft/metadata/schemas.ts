/** Schemas of metadata in requests, with every rule for a single field. content.ts checks the total size. */

import { Type } from '@sinclair/typebox'
import { MAX_ADDRESS_LENGTH, MAX_DATA_URI_LENGTH } from '../../core/published-uris.ts'
import { named } from '../../http/components.ts'
import { closedObject, multilineText, text } from '../../http/schemas.ts'

const MAX_ATTRIBUTES = 100

const imageSchema = Type.String({
  description: `The image: a URL, or the image itself as a \`data:image/…\` URI of at most ${MAX_DATA_URI_LENGTH} characters.`,
  examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
  format: 'image-uri',
  'x-rule': `must be an http://, https:// or ipfs:// address of at most ${MAX_ADDRESS_LENGTH} characters without user name and password, or a data:image/ URI of at most ${MAX_DATA_URI_LENGTH}`,
  'x-code': 'invalid_image_uri',
})

const attributeSchema = named(
  'NftAttribute',
  closedObject({
    trait_type: text(128, { minLength: 1, description: 'The name of the trait.', examples: ['Background'] }),
    value: text(1_024, { description: 'The value of the trait. Send numbers as strings too.', examples: ['Blue'] }),
  }),
)

/** Of a token, with the field names of ERC-721 and ERC-1155. */
export const tokenMetadataSchema = named(
  'NftMetadata',
  closedObject(
    {
      name: text(256, { minLength: 1, description: 'The name of the token.', examples: ['Lighthouse #1'] }),
      description: Type.Optional(
        multilineText(4_000, {
          description: 'A description of the token.',
          examples: ['The first of twelve lighthouses.'],
        }),
      ),
      image: Type.Optional(imageSchema),
      attributes: Type.Optional(
        Type.Array(attributeSchema, { maxItems: MAX_ATTRIBUTES, description: 'The traits that marketplaces show.' }),
      ),
    },
    { description: 'The metadata of the token. It is published permanently as canonical JSON under its hash.' },
  ),
)

/** Of a collection. */
export const collectionMetadataSchema = named(
  'NftCollectionMetadata',
  closedObject(
    {
      external_url: Type.Optional(
        Type.String({
          description: 'A web page about the collection.',
          examples: ['https://example.com/lighthouses'],
          format: 'web-address',
          'x-rule': `must be an http:// or https:// address of at most ${MAX_ADDRESS_LENGTH} characters without user name and password`,
          'x-code': 'invalid_url',
        }),
      ),
      image: Type.Optional(imageSchema),
    },
    { description: 'What marketplaces show about the collection.' },
  ),
)
