/** Schemas of the requests and responses about key shares. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { closedObject, failure, idSchema, instant, nullable, oneOf } from '../http/schemas.ts'
import { REFRESH_REASONS } from './events.ts'
import { REFRESH_STATUSES } from './state.ts'

export const recoverBody = closedObject({
  party: Type.Integer({ minimum: 1, description: 'The party that lost its share.', examples: [3] }),
})

const epochSchema = Type.Integer({
  description: 'The number of refreshes so far: 0 for the first shares of a key.',
  examples: [1],
})
const instantOrNull = nullable(instant('When the refresh ended. Null until then.'))

const refreshFields = {
  refresh_id: idSchema('rfr', 'The id of the refresh.'),
  reason: oneOf(REFRESH_REASONS, { description: 'Why the shares are refreshed.', examples: ['requested'] }),
  party: nullable(
    Type.Integer({ description: 'The party whose share is recovered. Null for none.', examples: [null] }),
  ),
  status: oneOf(REFRESH_STATUSES, {
    description:
      '`refreshed`: the new shares are in use and the old ones are useless. `failed`: the old shares are still in use.',
    examples: ['refreshed'],
  }),
  epoch: epochSchema,
  requested_at: instant('When the refresh was requested.'),
  ended_at: instantOrNull,
  failure: nullable({
    ...failure('Why the refresh failed. Null unless it did.', {
      code: 'mpc_parties_unavailable',
      message: 'Party 3 does not answer.',
    }),
    examples: [null],
  }),
}

export const refreshSchema = named(
  'ShareRefresh',
  Type.Object(refreshFields, { description: 'One refresh of the shares of a wallet.' }),
)

export const sharesSchema = named(
  'KeyShares',
  Type.Object({
    wallet_id: idSchema('wal', 'The id of the wallet.'),
    public_key: Type.String({
      description: 'The compressed public key of the wallet, 33 bytes in hex. A refresh does not change it.',
      examples: ['0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75'],
    }),
    threshold: Type.Integer({ description: 'How many parties sign together.', examples: [2] }),
    parties: Type.Integer({ description: 'How many parties hold a share. They are numbered from 1.', examples: [3] }),
    epoch: epochSchema,
    refreshed_at: instant('When the current shares were created.'),
    banned: Type.Array(Type.Integer(), {
      description: 'Parties that failed a check by the other parties. They do not sign until the shares are refreshed.',
      examples: [[]],
    }),
    accusations: Type.Array(
      Type.Object({
        party: Type.Integer({ description: 'The party that is reported to have failed a check.', examples: [3] }),
        accused_by: Type.Integer({ description: 'The party that reports it.', examples: [1] }),
      }),
      {
        description:
          'Reports of one party that another failed a check. Either party can be at fault, so the two do not sign together until the ' +
          'shares are refreshed. A party that `threshold` parties accuse is banned.',
        examples: [[]],
      },
    ),
    open_refresh: nullable({
      ...refreshSchema,
      description: 'The refresh in progress. Null for none.',
      examples: [null],
    }),
    last_refresh: nullable({ ...refreshSchema, description: 'The newest refresh that has ended. Null for none.' }),
  }),
)
