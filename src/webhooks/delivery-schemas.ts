/** Schemas of the requests and responses about deliveries, tests and replays. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { pageQuery, pageSchema } from '../http/paging.ts'
import { closedObject, idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { DELIVERY_STATES } from './delivery-state.ts'
import { typesSchema } from './schemas.ts'

const webhookId = idSchema('whk', 'The id of the webhook.')
const eventId = (description: string) => Type.String({ description, examples: ['evt_wallet-wal_01977b3e.2'] })

export const deliveryParams = closedObject({
  webhook_id: webhookId,
  delivery_id: idSchema('dlv', 'The id of the delivery.'),
})
export const replayParams = closedObject({
  webhook_id: webhookId,
  replay_id: idSchema('rpl', 'The id of the replay.'),
})

export const deliveriesQuery = closedObject({
  ...pageQuery,
  state: Type.Optional(oneOf(DELIVERY_STATES, { description: 'Only deliveries in this state.' })),
})

export const replaysQuery = closedObject(pageQuery)

const identity = {
  delivery_id: idSchema('dlv', 'The id of the delivery.'),
  webhook_id: webhookId,
  event_id: eventId('The id of the event. The header `webhook-id` has it with `-` instead of `.`.'),
  type: Type.String({ description: 'The type of the event.', examples: ['wallet.created'] }),
  replay_id: nullable(idSchema('rpl', 'The replay that sends it again. Null for the first delivery.')),
}
const attempts = Type.Integer({ description: 'The number of attempts so far.', examples: [1] })
const answered = {
  status: nullable(Type.Integer({ description: 'The HTTP status. Null without a response.', examples: [200] })),
  error: nullable(Type.String({ description: 'Why there was no response. Null if there was one.', examples: [null] })),
}
const attemptedAt = instant('When the attempt was recorded.')

const delivery = {
  ...identity,
  state: oneOf(DELIVERY_STATES, {
    description:
      '`pending`: it waits for its next attempt. `delivered`: the receiver answered with 200 to 299. `failed`: it was given up after its last attempt.',
    examples: ['delivered'],
  }),
  attempts,
  next_attempt_at: nullable(
    instant(
      'The earliest time of its next attempt. Earlier events of its resource are sent first. Null once it ended.',
    ),
  ),
  created_at: instant('When it was queued.'),
  ended_at: nullable(instant('When it was delivered or given up. Null until then.')),
}

/** As of the event that it was given up. */
export const deliveryAtEventSchema = named(
  'WebhookDeliveryAtEvent',
  Type.Object({
    ...identity,
    attempts,
    last_attempt: nullable(
      Type.Object({ at: attemptedAt, ...answered }, { description: 'The last attempt. Null if none is known.' }),
    ),
    failed_at: instant('When it was given up.'),
  }),
)

export const deliverySchema = named('WebhookDelivery', Type.Object(delivery))
export const deliveryPageSchema = named('WebhookDeliveryPage', pageSchema('deliveries', deliverySchema))

export const deliveryDetailSchema = named(
  'WebhookDeliveryDetail',
  Type.Object({
    ...delivery,
    attempt_list: Type.Array(
      Type.Object({
        attempt: Type.Integer({ description: 'Its number, from 1.', examples: [1] }),
        at: attemptedAt,
        outcome: Type.String({
          description:
            '`delivered`: a status from 200 to 299. `gone`: 410. `failed`: another status, or none. `refused`: the address is not allowed.',
          examples: ['delivered'],
        }),
        ...answered,
        response: Type.String({ description: 'The first 1,024 bytes of the response.', examples: ['ok'] }),
        duration_ms: Type.Integer({ description: 'How long it took, in milliseconds.', examples: [48] }),
      }),
      { description: 'The newest 100 attempts, oldest first.' },
    ),
  }),
)

export const testSchema = named(
  'WebhookTest',
  Type.Object({
    webhook_id: webhookId,
    event_id: eventId('The id of the event of type `webhook.test`. Its delivery is listed like all others.'),
  }),
)

const bounds = {
  after: eventId('Only events after the one with this id, in the order of the log.'),
  from: instant('Only events that were recorded at this time or later.'),
  to: instant('Only events that were recorded before this time.'),
}

export const replayBody = closedObject({
  after: Type.Optional(Type.String({ ...bounds.after, maxLength: 256 })),
  from: Type.Optional(bounds.from),
  to: Type.Optional(bounds.to),
  types: Type.Optional({
    ...typesSchema,
    description: 'Only events of these types. Omit it for all types that the webhook gets.',
  }),
  only_failed: Type.Boolean({
    description: 'Send only what was given up in the last 30 days. Each of these deliveries gets one more attempt.',
    default: false,
  }),
})

export const replaySchema = named(
  'WebhookReplay',
  Type.Object({
    replay_id: idSchema('rpl', 'The id of the replay.'),
    webhook_id: webhookId,
    after: nullable(bounds.after),
    from: nullable(bounds.from),
    to: nullable(bounds.to),
    types: typesSchema,
    only_failed: Type.Boolean({ description: 'Whether it sends only what was given up.', examples: [false] }),
    status: oneOf(['running', 'completed', 'expired'], {
      description:
        '`running` until all its deliveries are queued: `completed`. It waits while 10,000 deliveries of the webhook are pending, and ' +
        'while the webhook is disabled. `expired`: no sender began it within 7 days, and nothing of it is sent. Request it again.',
      examples: ['running'],
    }),
    added: Type.Integer({ description: 'The number of deliveries that it has queued so far.', examples: [0] }),
    requested_at: instant('When it was requested. Only events before that are sent again.'),
    completed_at: nullable(instant('When all its deliveries were queued. Null until then.')),
  }),
)
export const replayPageSchema = named('WebhookReplayPage', pageSchema('replays', replaySchema))
