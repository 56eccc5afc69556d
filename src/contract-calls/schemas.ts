/** Schemas of the requests and responses about contract calls. */

import { Type } from '@sinclair/typebox'
import { INTRINSIC_GAS, MAX_EXECUTION_GAS, rulesOf } from '../chain/forks.ts'
import { named } from '../http/components.ts'
import { addressSchema, amountSchema, closedObject, nullable, oneOf } from '../http/schemas.ts'
import { abiValueSchema, callSchema } from '../transactions/call-schemas.ts'
import { callerSchemas } from '../transactions/caller-schemas.ts'
import { gasPrioritySchema } from '../transactions/schemas.ts'

const modeSchema = oneOf(['send', 'simulate', 'read'] as const, {
  description:
    '`send` records and sends a transaction. `simulate` reports what it would return, cost and change. `read` only returns what the ' +
    'function returns.',
  default: 'send',
  examples: ['send'],
})

/** A text, or an object of a JSON ABI: checked when it is parsed. */
const fragmentSchema = Type.Unknown({
  description: 'A function, event or error: an object of a JSON ABI, or text.',
  examples: ['function transfer(address to, uint256 amount) returns (bool)'],
})

export const contractCallBody = closedObject({
  contract_address: { ...addressSchema, description: `The contract to call. ${addressSchema.description}` },
  mode: Type.Optional(modeSchema),
  abi: Type.Optional(
    Type.Array(fragmentSchema, {
      description:
        'The ABI of the contract, or a part of it, at most 64 KiB. The function is found in it, and its events and errors are decoded.',
    }),
  ),
  function: Type.Optional(
    Type.String({
      description: 'The function of `abi`: its name, or its signature if the name is overloaded.',
      minLength: 1,
      maxLength: 4_096,
      examples: ['transfer'],
    }),
  ),
  function_signature: Type.Optional(
    Type.String({
      description: 'In place of `function`: a signature, such as `balanceOf(address) view returns (uint256)`.',
      minLength: 1,
      maxLength: 4_096,
      examples: ['transfer(address,uint256)'],
    }),
  ),
  data: Type.Optional(
    Type.String({
      description:
        'In place of `args`: encoded call data, at most 128 KiB. Its selector must be that of the function, if one is named.',
      maxLength: 524_288,
      examples: ['0xa9059cbb'],
    }),
  ),
  args: Type.Optional(
    Type.Array(
      Type.Unknown({
        description: 'Integers as decimal strings, bytes and addresses as hexadecimal, tuples as arrays or objects.',
        examples: ['1000000'],
      }),
      { description: 'The arguments in order. Values are never converted: `"true"` is not a boolean.' },
    ),
  ),
  value: Type.Optional({
    ...amountSchema,
    description: `The native currency to send with the call. ${amountSchema.description}`,
    examples: ['0.1'],
  }),
  gas_limit: Type.Optional(
    Type.Integer({
      description:
        'Gas to hold and to allow. Without it the call is simulated, and refused if it would revert now. More is used if an estimate ' +
        `before it is signed is higher. Before the fork Amsterdam at most ${MAX_EXECUTION_GAS}; since then more only as far as an estimate needs it.`,
      minimum: Number(INTRINSIC_GAS),
      maximum: Number(rulesOf('amsterdam').transaction),
      examples: [120_000],
    }),
  ),
  gas_priority: Type.Optional(gasPrioritySchema),
  ...callerSchemas,
})

const revertSchema = Type.Object(
  {
    name: nullable(
      Type.String({
        description: 'The name of the error. Null if it is not known.',
        examples: ['ERC20InsufficientBalance'],
      }),
    ),
    args: Type.Array(abiValueSchema, { description: 'The arguments of the error.' }),
    reason: nullable(
      Type.String({
        description: 'The reason, for people. Null if none was returned.',
        examples: ['not enough tokens'],
      }),
    ),
    inner: Type.Unknown({
      description: 'The same fields of an error inside of an argument, up to three levels deep. Null without one.',
      examples: [null],
    }),
    data: Type.String({ description: 'The revert data: its first 4 KiB.', examples: ['0x'] }),
  },
  { description: 'Why the call reverts. Null if it succeeds.' },
)

/** The result of `simulate` and `read`. */
export const triedCallSchema = named(
  'TriedContractCall',
  Type.Object({
    mode: oneOf(['simulate', 'read'] as const, { description: 'The mode of the request.', examples: ['read'] }),
    success: Type.Boolean({ description: 'Whether the call would succeed on the newest block.' }),
    call: callSchema,
    return_values: nullable(
      Type.Array(abiValueSchema, {
        description: 'What the function returns, decoded. Null if it reverts or cannot be decoded.',
      }),
    ),
    return_data: nullable(
      Type.String({ description: 'What it returns, encoded. Null if it reverts.', examples: ['0x'] }),
    ),
    decoding: oneOf(['complete', 'incomplete', 'too_large', 'none'] as const, {
      description:
        '`incomplete`: some values are not valid. `too_large`: more than 16 KiB was returned. `none`: nothing to decode, or the types ' +
        'are not known.',
      examples: ['complete'],
    }),
    gas_estimate: nullable(
      Type.String({ description: 'The estimated gas. Null for `read`, and if it reverts.', examples: ['51234'] }),
    ),
    balance_changes: nullable(
      Type.Array(
        Type.Object({
          asset: Type.String({ description: 'The symbol of the asset.', examples: ['USDC'] }),
          asset_id: Type.String({
            description: 'The id of the asset (CAIP-19).',
            examples: ['eip155:1/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'],
          }),
          change: Type.String({ description: 'The change, negative for what the wallet gives.', examples: ['-1.5'] }),
        }),
        {
          description:
            'What the wallet would give and get, without gas: the native currency, and the assets of `GET /v1/assets`. Null for `read`, ' +
            'and if the node cannot rehearse the call.',
        },
      ),
    ),
    revert: nullable(revertSchema),
  }),
)
