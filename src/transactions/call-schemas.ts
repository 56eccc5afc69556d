/** Schemas of calls of contracts, decoded: arguments and events. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { addressSchema, nullable, oneOf } from '../http/schemas.ts'

/** A value that a contract was given, or returned. */
export const abiValueSchema = named(
  'AbiValue',
  Type.Object({
    name: Type.String({ description: 'The name in the ABI. Empty if it has none.', examples: ['amount'] }),
    type: Type.String({ description: 'The canonical type.', examples: ['uint256'] }),
    value: Type.Unknown({
      description:
        'Integers are decimal strings, bytes and addresses hexadecimal, arrays lists, and tuples lists of such named values. Null if the ' +
        'data is not valid.',
      examples: ['1000000'],
    }),
    note: Type.Optional(
      oneOf(['undecodable', 'hash'] as const, {
        description:
          '`undecodable`: the data is not a value of the type. `hash`: the event has only the hash of the value.',
        examples: ['hash'],
      }),
    ),
  }),
)

const spendSchema = Type.Object({
  kind: oneOf(['approve', 'increase_allowance', 'permit', 'set_approval_for_all', 'permit2', 'unreadable'] as const, {
    description: 'How it is allowed. `unreadable`: a part of the call could not be read, and may allow anything.',
    examples: ['approve'],
  }),
  token: nullable({ ...addressSchema, description: 'The contract of the tokens. Null if unreadable.' }),
  spender: nullable({ ...addressSchema, description: 'Who may spend them. Null if unreadable.' }),
  amount: Type.String({
    description:
      'Base units, or `unlimited`; `0` revokes. `approve` of an ERC-721 contract has the id of the token here: its call data are the same.',
    examples: ['1000000'],
  }),
})

/** What a call does. */
export const callSchema = named(
  'DecodedCall',
  Type.Object(
    {
      function: nullable(
        Type.String({
          description: 'The name of the function. Null if only call data was sent.',
          examples: ['transfer'],
        }),
      ),
      signature: nullable(
        Type.String({ description: 'Its signature. Null if unknown.', examples: ['transfer(address,uint256)'] }),
      ),
      selector: nullable(
        Type.String({
          description: 'The first 4 bytes of the call data. Null for shorter data.',
          examples: ['0xa9059cbb'],
        }),
      ),
      args: nullable(
        Type.Array(abiValueSchema, {
          description: 'The arguments. Null if the function is unknown, or for more than 16 KiB.',
        }),
      ),
      spends: Type.Array(spendSchema, {
        description:
          'What the call allows others to spend: allowances, permits of this wallet, operators of collections, Permit2, also inside of ' +
          'multicalls up to three deep. At most 64, and an `unreadable` one if there may be more.',
      }),
      warnings: Type.Array(
        Type.Object({
          code: oneOf(['unlimited_spend', 'unreadable_call'] as const, {
            description: 'The warning.',
            examples: ['unlimited_spend'],
          }),
          message: Type.String({
            description: 'What it means, for people.',
            examples: [
              '0x… may spend all of 0x…, at any time, until the wallet revokes it: allow only what is needed.',
            ],
          }),
        }),
        { description: 'What to check before the call is sent.' },
      ),
    },
    { description: 'The call of a contract, decoded. Null for other transactions.' },
  ),
)

/** The events of a call. */
export const eventsSchema = Type.Array(
  Type.Object({
    address: { ...addressSchema, description: 'The contract that emitted it.' },
    log_index: Type.Integer({ description: 'Its index in the block.', examples: [4] }),
    name: nullable(
      Type.String({
        description: 'The name of the event. Null if `abi` did not have it.',
        examples: ['Transfer'],
      }),
    ),
    signature: nullable(
      Type.String({
        description: 'Its signature. Null if unknown.',
        examples: ['Transfer(address,address,uint256)'],
      }),
    ),
    args: nullable(Type.Array(abiValueSchema, { description: 'Its arguments. Null if unknown.' })),
    topics: Type.Array(Type.String({ description: 'A topic.', examples: ['0x'] }), {
      description: 'The raw topics.',
    }),
    data: Type.String({ description: 'The raw data.', examples: ['0x'] }),
  }),
  {
    description:
      'The events that a contract call emitted: the first 64, at most 32 KiB. Null until it is in a block, for other types, and in lists.',
  },
)
