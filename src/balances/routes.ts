/** Reading balances: parse, call, reply. */
import { Type } from '@sinclair/typebox'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { closedObject, idSchema, instantSchema, networkSchema, nullable, oneOf } from '../http/schemas.ts'
import type { ReadBalance } from './read-balance.ts'

const amountOut = (description: string, example: string) => Type.String({ description, examples: [example] })

const balanceFields = {
  balance: amountOut('What the address holds, in whole units of the asset.', '1.5'),
  currency: Type.String({ description: 'Symbol of the asset.', examples: ['ETH'] }),
  usd_value: nullable(
    amountOut(
      'US dollars and cents, rounded half up; null when no price is known or for a time that is past.',
      '4518.52',
    ),
  ),
  updated_at: Type.String({
    description: 'When the balance was last seen to change.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
  network: networkSchema,
  decimals: Type.Integer({ examples: [18] }),
  contract_address: nullable(Type.String({ description: 'Null for the native currency.' })),
  available: nullable(
    amountOut('The balance less what pending transactions hold back; null for a time that is past.', '1.4'),
  ),
  pending_out: nullable(
    amountOut('What pending transactions hold back, gas included; null for a time that is past.', '0.1'),
  ),
  block_number: Type.Integer({ description: 'The block in which the balance was seen.', examples: [19000000] }),
  stale_since: Type.Optional(
    Type.String({
      description: 'Only when the contract of the token cannot be read: the balance may be out of date since then.',
      examples: ['2026-01-31T12:00:00.000Z'],
    }),
  ),
}

const balance = {
  tags: ['Wallets'],
  summary: 'Read a balance',
  description:
    'What a wallet holds, as of the newest block that changed it: deposits show without any action. An archived wallet is told like ' +
    'any other. With `at`, the balance as it was known at that time; before the first observation there is none (404 ' +
    '`balance_not_observed`).',
  params: closedObject({ wallet_id: idSchema('wallet', 'The wallet.') }),
  querystring: closedObject({
    asset: Type.Optional(
      Type.String({
        description: 'A symbol, a contract address or an asset id. The native currency unless it is given.',
        minLength: 1,
        maxLength: 128,
        examples: ['USDC'],
      }),
    ),
    include: Type.Optional(
      oneOf(['tokens'], { description: '`tokens`: tell every asset that you may name, in `assets`.' }),
    ),
    at: Type.Optional({ ...instantSchema, description: 'A time in the past.' }),
  }),
  response: {
    200: successOf(
      Type.Object({ ...balanceFields, assets: Type.Optional(Type.Array(Type.Object(balanceFields))) }),
      'The balance.',
    ),
  },
}

const refusals = {
  409: 'The symbol names several assets, or the wallet has no address yet.',
  503: 'The first look at the wallet is still to come, and no node answers.',
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
