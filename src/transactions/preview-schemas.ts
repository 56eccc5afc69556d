/** The schema of the preview of a transfer. */
import { Type } from '@sinclair/typebox'
import { INTRINSIC_GAS } from '../chain/forks.ts'
import { named } from '../http/components.ts'
import { nullable } from '../http/schemas.ts'
import { currencySchema, warnings } from './schemas.ts'

const feeLevel = (priority: string) =>
  Type.Object(
    {
      native: Type.String({ description: 'The highest fee, in the native currency.', examples: ['0.00042'] }),
      usd: nullable(
        Type.String({ description: 'The same in US dollars. Null if no price is known.', examples: ['1.26'] }),
      ),
      max_fee_per_gas_wei: Type.String({
        description: 'The highest fee for each unit of gas, in wei (EIP-1559).',
        examples: ['20000000000'],
      }),
      max_priority_fee_per_gas_wei: Type.String({
        description: 'The highest tip for each unit of gas, in wei (EIP-1559).',
        examples: ['1000000000'],
      }),
    },
    { description: `The fee with gas_priority \`${priority}\`.` },
  )

export const previewSchema = named(
  'TransferPreview',
  Type.Object({
    would_succeed: Type.Boolean({ description: 'Whether the transfer would succeed now.' }),
    reason: nullable(
      Type.String({
        description: 'Why the transfer would not succeed, such as `insufficient_funds`. Null if it would.',
        examples: ['insufficient_funds'],
      }),
    ),
    gas_limit: nullable(
      Type.String({
        description: 'The estimated gas limit. Null if the transfer cannot be executed.',
        examples: [String(INTRINSIC_GAS)],
      }),
    ),
    fee: Type.Object(
      { currency: currencySchema, low: feeLevel('low'), medium: feeLevel('medium'), high: feeLevel('high') },
      { description: 'The fee for each gas_priority.' },
    ),
    balance_after: nullable(
      Type.String({
        description:
          'The available balance of the asset after the transfer, at the highest fee. Null if the balance is too low.',
        examples: ['0.49'],
      }),
    ),
    warnings: warnings(
      Type.String({ description: 'A stable code.', examples: ['first_transfer_to_recipient'] }),
      'Possible mistakes. They do not prevent the transfer.',
      'This wallet has never sent to this address: check the address.',
    ),
  }),
)
