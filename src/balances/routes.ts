/** The HTTP route of balances. */

import { Type } from '@sinclair/typebox'
import { named } from '../http/components.ts'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { closedObject, idSchema, instant, networkSchema, nullable, oneOf } from '../http/schemas.ts'
import type { ReadBalance } from './read-balance.ts'

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

const assetBalanceSchema = named(
  'AssetBalance',
  Type.Object(balanceFields, { description: 'The balance of one asset.' }),
)

const balance = {
  tags: ['Wallets'],
  operationId: 'getWalletBalance',
  summary: 'Get a balance',
  description:
    'Returns the balance of a wallet as of the newest block that changed it. Deposits are included without any action. Archived ' +
    'wallets are included too. With `at`, returns the balance that was known at that time; for a time before the first observation ' +
    'the response is 404 `balance_not_observed`.',
  params: closedObject({ wallet_id: idSchema('wallet', 'The id of the wallet.') }),
  querystring: closedObject({
    asset: Type.Optional(
      Type.String({
        description: 'A symbol, a contract address or an asset id. The default is the native currency.',
        minLength: 1,
        maxLength: 128,
        examples: ['USDC'],
      }),
    ),
    include: Type.Optional(
      oneOf(['tokens'], { description: '`tokens`: also return every asset that you can name, in `assets`.' }),
    ),
    at: Type.Optional(instant('A time in the past.')),
  }),
  response: {
    200: successOf(
      named(
        'WalletBalance',
        Type.Object({
          ...balanceFields,
          assets: Type.Optional(Type.Array(assetBalanceSchema, { description: 'Every asset, with `include=tokens`.' })),
        }),
      ),
      'The balance.',
    ),
  },
}

const refusals = {
  409: 'Several assets have the symbol, or the wallet has no address yet.',
  503: 'The wallet has not been observed yet, and no node is available.',
}

export function balanceRoutes({ readBalance }: { readonly readBalance: ReadBalance }): Routes {
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/balance',
      { schema: balance, config: { scope: 'wallets:read', refusals } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { asset, include, at } = request.query
        const question = { asset, at, tokens: include === 'tokens' }
        const { assets, ...view } = await readBalance({ tenantId, environment }, request.params.wallet_id, question)
        return success(assets === undefined ? view : { ...view, assets: [...assets] })
      },
    )
  }
}
