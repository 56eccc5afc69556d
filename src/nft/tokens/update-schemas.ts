/** Schemas of the requests and responses about token updates. */
import { Type } from '@sinclair/typebox'
import { closedObject, idSchema, nullable, oneOf } from '../../http/schemas.ts'
import { failureSchema } from '../collections/schemas.ts'
import { tokenMetadataSchema } from '../metadata/schemas.ts'

export const updateBody = closedObject(
  {
    metadata: Type.Optional(tokenMetadataSchema),
    freeze: Type.Optional(
      Type.Literal(true, {
        description: 'Freezes the metadata permanently. Send it instead of `metadata`.',
        'x-rule': 'must be true: metadata cannot be unfrozen',
        'x-code': 'not_allowed',
      }),
    ),
  },
  {
    examples: [{ metadata: { name: 'Lighthouse #1', attributes: [{ trait_type: 'Lamp', value: 'On' }] } }],
  },
)

/** The fields about updates, for tokens of DYNAMIC collections. */
export const updateFields = {
  pending_metadata_uri: nullable(
    Type.String({
      description: 'The new `metadata_uri`, while the transaction of an update is not in a block. Null for none.',
      examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    }),
  ),
  frozen: Type.Boolean({ description: 'Whether the metadata is permanently frozen.', examples: [false] }),
  last_update: nullable(
    Type.Object(
      {
        type: oneOf(['METADATA', 'FREEZE'], {
          description: '`METADATA`: new metadata. `FREEZE`: the metadata was frozen.',
          examples: ['METADATA'],
        }),
        status: oneOf(['PENDING', 'DONE', 'FAILED'], {
          description: 'The status of the update.',
          examples: ['PENDING'],
        }),
        transaction_id: idSchema('tx', "The transaction of the update, sent from the collection's wallet."),
        transaction_hash: nullable(
          Type.String({
            description: 'The hash of the transaction. Null until it is signed.',
            examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
          }),
        ),
        failure: failureSchema,
      },
      { description: 'The newest update that was requested. Null for none.' },
    ),
  ),
}
