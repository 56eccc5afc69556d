/** Schemas of the request and the response of a batch of transfers. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { addressSchema, amountSchema, closedObject, idSchema, oneOf } from '../http/schemas.ts'
import { callerViewSchemas, validUntilSchema } from './caller-schemas.ts'
import { acceptedFields, gasPrioritySchema, PRIORITIES, PRIORITY_TEXT, transferFields } from './schemas.ts'

export const transfersBody = closedObject({
  items: Type.Array(
    closedObject({
      ...transferFields,
      gas_priority: Type.Optional(
        oneOf(PRIORITIES, { description: `${PRIORITY_TEXT} The default is that of the batch.`, examples: ['high'] }),
      ),
      valid_until: Type.Optional({
        ...validUntilSchema,
        description: `${validUntilSchema.description} The default is that of the batch.`,
      }),
    }),
    { description: 'The transfers, 1 to 100. They are signed in this order.', minItems: 1, maxItems: 100 },
  ),
  gas_priority: Type.Optional({
    ...gasPrioritySchema,
    description: `Of each item that has none. ${PRIORITY_TEXT}`,
  }),
  valid_until: Type.Optional({
    ...validUntilSchema,
    description: `Of each item that has none. ${validUntilSchema.description}`,
  }),
})

export const acceptedBatchSchema = named(
  'AcceptedTransferBatch',
  Type.Object({
    batch_id: idSchema('batch', 'The id of the batch: the `subject` of each transaction.'),
    transactions: Type.Array(
      Type.Object({
        ...acceptedFields,
        to: { ...addressSchema, description: 'The recipient.' },
        amount: amountSchema,
        asset: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
        reference_id: callerViewSchemas.reference_id,
      }),
      { description: 'One transaction for each item, in the order of the items.' },
    ),
  }),
)
