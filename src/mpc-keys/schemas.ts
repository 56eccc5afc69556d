/** What requests and answers about shares look like on the wire. */
import { Type } from '@sinclair/typebox'
import { closedObject, idSchema, instantSchema, nullable, oneOf } from '../http/schemas.ts'
import { REFRESH_REASONS } from './events.ts'
import type { RefreshView, SharesView } from './read-shares.ts'
import { REFRESH_STATUSES } from './state.ts'

export const recoverBody = closedObject({
  party: Type.Integer({ minimum: 1, description: 'The party that lost its share.', examples: [3] }),
})

const epochSchema = Type.Integer({
  description: '0 for the first shares of a key, then one more each time.',
  examples: [1],
})
const instantOrNull = nullable({ ...instantSchema, description: 'Null until it has ended.' })

const refreshFields = {
  refresh_id: idSchema('refresh', 'Names the refresh.'),
  reason: oneOf(REFRESH_REASONS, { description: 'Why shares are made anew.', examples: ['requested'] }),
  party: nullable(Type.Integer({ description: 'The party whose share is repaired.', examples: [null] })),
  status: oneOf(REFRESH_STATUSES, {
    description: '`refreshed`: the new shares count and the old ones are useless; `failed`: the old ones still count.',
    examples: ['refreshed'],
  }),
  epoch: epochSchema,
  requested_at: instantSchema,
  ended_at: instantOrNull,
  failure: nullable(
    Type.Object(
      {
        code: Type.String({ examples: ['mpc_parties_unavailable'] }),
        message: Type.String({ examples: ['Party 3 does not answer.'] }),
      },
      { examples: [null] },
    ),
  ),
}

export const refreshSchema = Type.Unsafe<RefreshView>(Type.Object(refreshFields))

export const sharesSchema = Type.Unsafe<SharesView>(
  Type.Object({
    wallet_id: idSchema('wallet', 'The wallet.'),
    public_key: Type.String({
      description: 'The public key of the wallet, compressed, 33 bytes in hex. No refresh changes it.',
      examples: ['0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75'],
    }),
    threshold: Type.Integer({ description: 'How many parties sign together.', examples: [2] }),
    parties: Type.Integer({ description: 'How many parties hold a share: 1 to this number.', examples: [3] }),
    epoch: epochSchema,
    refreshed_at: { ...instantSchema, description: 'When the shares that count were made.' },
    banned: Type.Array(Type.Integer(), {
      description: 'Parties that failed a check of the others: they do not sign until the shares are refreshed.',
      examples: [[]],
    }),
    accusations: Type.Array(
      Type.Object({
        party: Type.Integer({ description: 'The party that failed a check, if that is true.', examples: [3] }),
        accused_by: Type.Integer({ description: 'The party that reports it.', examples: [1] }),
      }),
      {
        description:
          'One party reports that another failed a check. Either may be at fault: the two do not sign together until the shares are refreshed. ' +
          'A party that as many accuse as `threshold` says is banned.',
        examples: [[]],
      },
    ),
    open_refresh: nullable(Type.Object(refreshFields, { description: 'What is under way.', examples: [null] })),
    last_refresh: nullable(Type.Object(refreshFields, { description: 'The newest that has ended.' })),
  }),
)
