/** Schemas of the requests and responses of the event feed. */
import { type TSchema, Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { closedObject, environmentSchema, instant, nullable, oneOf, searchText } from '../http/schemas.ts'

const ID = 'evt_transaction-tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13.4'

const publicEventIdSchema = Type.String({
  description:
    'The id of the event. It never changes. An event of the log that causes several events has ids that end with `~1`, `~2`.',
  pattern: '^evt_[a-z]+-[^\\s]+\\.[1-9][0-9]{0,9}(~[1-9][0-9]?)?$',
  maxLength: 303,
  examples: [ID],
  'x-rule': 'must be the id of an event, evt_<stream>.<version>',
  'x-code': 'invalid_id',
})

export const feedQuery = closedObject({
  after: Type.Optional({
    ...publicEventIdSchema,
    description:
      'The `next_after` of the previous page, or the id of an event. Omit it to start with the oldest event.',
  }),
  types: Type.Optional(
    searchText(4_000, {
      description: 'Only events of these types, separated by commas.',
      examples: ['transaction.confirmed,transaction.failed'],
    }),
  ),
  resource: Type.Optional(
    searchText(300, {
      description: 'Only events about the resource with this id.',
      minLength: 1,
      examples: ['tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13'],
    }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1_000,
    default: 100,
    description: 'Maximum number of events to return, from 1 to 1,000.',
  }),
  wait: Type.Integer({
    minimum: 0,
    maximum: 60,
    default: 0,
    description: 'If there is no event: how many seconds to wait for one, from 0 to 60.',
  }),
})

/** What every public event has besides its data. */
const eventFields = {
  id: publicEventIdSchema,
  type: Type.String({ description: 'The type of the event.', examples: ['transaction.mined'] }),
  timestamp: instant('When the event was recorded.'),
  api_version: Type.Literal('1', { description: 'The version of the form of events.', examples: ['1'] }),
  environment: environmentSchema,
  resource: Type.Object(
    {
      type: Type.String({ description: 'The type of the resource.', examples: ['transaction'] }),
      id: Type.String({
        description: 'The id of the resource.',
        examples: ['tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13'],
      }),
      version: Type.Integer({
        description: 'The version in the stream that `id` of the event names. It grows with each event of that stream.',
        examples: [4],
      }),
    },
    { description: 'What the event is about.' },
  ),
}

export const feedPageSchema = named(
  'EventPage',
  Type.Object({
    events: Type.Array(
      Type.Object({
        ...eventFields,
        data: nullable(
          Type.Unknown({
            type: 'object',
            additionalProperties: true,
            description:
              'The resource as of this event. The section Event types of the reference has its fields for each type. Null if the API key ' +
              'does not have the scope of the route that returns the resource.',
            examples: [{ transaction_id: 'tx_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a13', state: 'mined' }],
          }),
        ),
      }),
      { description: 'The events of this page, oldest first.' },
    ),
    next_after: nullable(
      Type.String({
        description:
          'Pass it as `after` to continue. It moves on even if no event matched. Null if you have no events.',
        examples: [ID],
      }),
    ),
    has_more: Type.Boolean({
      description: 'Whether to ask again at once. It can be true although no further event matches the filters.',
      examples: [false],
    }),
  }),
)

/**
 * The schema of the public events about one type of resource.
 *
 * @param category of the streams of the resource, for the example of an id
 */
export function eventSchemaOf(
  { resource, category }: { readonly resource: string; readonly category: string },
  types: readonly string[],
  data: TSchema,
) {
  const id = exampleIdOf(resource, data)
  return Type.Object(
    {
      ...eventFields,
      id: { ...publicEventIdSchema, examples: [`evt_${category}-${id}.2`] },
      type: oneOf(types, { description: 'The type of the event.', examples: types.slice(0, 1) }),
      resource: Type.Object(
        {
          ...eventFields.resource.properties,
          id: { ...eventFields.resource.properties.id, examples: [id] },
          version: { ...eventFields.resource.properties.version, examples: [2] },
          type: Type.Literal(resource, { description: 'The type of the resource.' }),
        },
        { description: 'What the event is about.' },
      ),
      data: { ...data, description: 'The resource as of this event.' },
    },
    { description: `An event about a resource of the type \`${resource}\`.` },
  )
}

/** The id of `nft.mint` is `mint_id`, that of `api_key` is `key_id`; a balance has the id of its wallet. */
function exampleIdOf(resource: string, { properties }: TSchema): string {
  const fields = Object.entries(properties as Readonly<Record<string, TSchema>>)
  const own = fields.find(([name]) => name.endsWith('_id') && resource.endsWith(name.slice(0, -'_id'.length)))
  const [, schema] = own ?? fields.find(([name]) => name === 'wallet_id') ?? []
  return String((schema?.examples as readonly unknown[] | undefined)?.[0])
}
