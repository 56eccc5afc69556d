/** Schemas of the responses about balances. */
import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { networkSchema, nullable } from '../http/schemas.ts'

const amountOut = (description: string, example: string) => Type.String({ description, examples: [example] })

const balanceFields = {
  balance: amountOut('The balance of the address, in whole units of the asset.', '1.5'),
  currency: Type.String({ description: 'The symbol of the asset.', examples: ['ETH'] }),
  usd_value: nullable(
    amountOut('The value in US dollars, rounded half up to cents. Null if no price is known, or with `at`.', '4518.52'),
  ),
  updated_at: Type.String({
    description: 'When the last change of the balance was observed.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
  network: networkSchema,
  decimals: Type.Integer({ description: 'How many decimals the asset has.', examples: [18] }),
  contract_address: nullable(Type.String({ description: 'The token contract. Null for the native currency.' })),
  available: nullable(
    amountOut('The balance minus the amount that pending transactions reserve. Null with `at`.', '1.4'),
  ),
  pending_out: nullable(
    amountOut('The amount that pending transactions reserve, including gas. Null with `at`.', '0.1'),
  ),
  block_number: Type.Integer({ description: 'The block in which the balance was observed.', examples: [19000000] }),
  stale_since: Type.Optional(
    Type.String({
      description: 'Present only if the token contract cannot be read: the balance may be out of date since this time.',
      examples: ['2026-01-31T12:00:00.000Z'],
    }),
  ),
}

export const assetBalanceSchema = named(
  'AssetBalance',
  Type.Object(balanceFields, { description: 'The balance of one asset.' }),
)

export const balanceSchema = named(
  'WalletBalance',
  Type.Object({
    ...balanceFields,
    as_of: Type.Optional(
      Type.String({
        description:
          'Present only with `at`: that time. The answer is complete and does not change: for a time within the last second it is given when that second is over.',
        examples: ['2026-01-31T12:00:00.000Z'],
      }),
    ),
    assets: Type.Optional(Type.Array(assetBalanceSchema, { description: 'Every asset, with `include=tokens`.' })),
  }),
)
