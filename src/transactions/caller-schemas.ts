/** The schemas of what a caller writes on a transaction: `core/caller-fields.ts`. */
import { Type } from '@sinclair/typebox'
import { instant, nullable, text } from '../http/schemas.ts'

const reference_id = text(128, {
  minLength: 1,
  description: 'Your own reference. You can list transactions by it.',
  examples: ['invoice-1042'],
})
const memo = text(256, {
  description: 'A note for your own use. It is not sent to the chain.',
  examples: ['March rent'],
})

export const validUntilSchema = Type.String({
  format: 'date-time',
  description: 'The transaction is not signed after this time. It fails with the code `expired` instead.',
  examples: ['2030-01-31T12:00:00.000Z'],
})

/** In requests. */
export const callerSchemas = {
  reference_id: Type.Optional(reference_id),
  memo: Type.Optional(memo),
  valid_until: Type.Optional(validUntilSchema),
}

/** In answers. */
export const callerViewSchemas = {
  reference_id: nullable(Type.String({ description: 'Your own reference.', examples: ['invoice-1042'] })),
  memo: nullable(Type.String({ description: 'Your note.', examples: ['March rent'] })),
  valid_until: nullable(instant('The transaction is not signed after this time. Null for no limit.')),
}
