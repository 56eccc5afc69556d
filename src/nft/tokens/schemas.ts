/** What a change of a token looks like on the wire. */
import { type TSchema, Type } from '@sinclair/typebox'
import { closedObject, idSchema, nullable, oneOf } from '../../http/schemas.ts'
import { failureSchema } from '../collections/schemas.ts'
import { tokenMetadataSchema } from '../metadata/schemas.ts'
import { UPDATE_STATUSES } from './updates-view.ts'

export const updateBody = closedObject(
  {
    metadata: Type.Optional(tokenMetadataSchema),
    freeze: Type.Optional(
      Type.Literal(true, {
        description: 'Ends changes for ever, in the place of `metadata`.',
        'x-rule': 'must be true: nothing is ever thawed',
        'x-code': 'not_allowed',
      }),
    ),
  },
  {
    examples: [{ metadata: { name: 'Lighthouse #1', attributes: [{ trait_type: 'Lamp', value: 'On' }] } }],
  },
)

/** What a token of a DYNAMIC collection tells beside the rest. */
export const updateFields: Record<string, TSchema> = {
  pending_metadata_uri: nullable(
    Type.String({
      description: 'What `metadata_uri` becomes once the change on its way is in a block.',
      examples: ['ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am'],
    }),
  ),
  frozen: Type.Boolean({ description: 'Whether its metadata is frozen for ever.', examples: [false] }),
  last_update: nullable(
    Type.Object(
      {
        type: oneOf(['METADATA', 'FREEZE'], { examples: ['METADATA'] }),
        status: oneOf(UPDATE_STATUSES, { examples: ['PENDING'] }),
        transaction_id: idSchema('transaction', "The transaction that does it; one of the collection's wallet."),
        transaction_hash: nullable(
          Type.String({
            description: 'Null until it is signed.',
            examples: ['0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060'],
          }),
        ),
        failure: failureSchema,
      },
      { description: 'The newest change that was asked for.' },
    ),
  ),
}
