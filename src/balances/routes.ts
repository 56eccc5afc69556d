/** The HTTP route of balances. */

import { Type } from '@sinclair/typebox'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { closedObject, idSchema, instant, oneOf } from '../http/schemas.ts'
import { readBalance } from './read-balance.ts'
import { balanceSchema } from './schemas.ts'

const balance = {
  tags: ['Wallets'],
  operationId: 'getWalletBalance',
  summary: 'Get a balance',
  description:
    'Returns the balance of a wallet as of the newest block that changed it. Deposits are included without any action. Archived ' +
    'wallets are included too. With `at`, returns the balance that was known at that time, in the decimals that a token had then; ' +
    'for a time before the first observation the response is 404 `balance_not_observed`.',
  params: closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') }),
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
    200: successOf(balanceSchema, 'The balance.'),
  },
}

const refusals = {
  409: 'Several assets have the symbol, or the wallet has no address yet.',
  503: 'The wallet has not been observed yet, and no node is available.',
}

export function balanceRoutes(ctx: Parameters<typeof readBalance>[0]): Routes {
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/balance',
      { schema: balance, config: { scope: 'wallets:read', refusals } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { asset, include, at } = request.query
        const question = { asset, at, tokens: include === 'tokens' }
        return success(await readBalance(ctx, { tenantId, environment }, request.params.wallet_id, question))
      },
    )
  }
}
