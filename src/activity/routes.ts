/** The HTTP route of what came into a wallet and left it. */
import { Type } from '@sinclair/typebox'
import type { ApiContext } from '../api-context.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery } from '../http/paging.ts'
import type { Routes } from '../http/request.ts'
import { closedObject, idSchema, searchText } from '../http/schemas.ts'
import { readActivity } from './read-activity.ts'
import { activityPageSchema, directionSchema, LIST } from './schemas.ts'
import { toEntry } from './view.ts'

const list = {
  tags: ['Wallets'],
  operationId: 'listWalletActivity',
  summary: 'List what came in and went out',
  description:
    'Lists the transfers to and from a wallet, whoever sent them, newest first: what the service observed on chain since the wallet ' +
    'exists, and the transactions of the wallet that move value. Transfers of zero, of tokens that are neither configured nor ' +
    'registered, and of the wallet to itself are left out. Native currency that a contract sends is not in the logs of a block: it ' +
    'changes the balance, and is not listed. Transactions that failed and transfers whose block left the chain are left out.',
  params: closedObject({ wallet_id: idSchema('wal', 'The id of the wallet.') }),
  querystring: closedObject({
    ...pageQuery,
    direction: Type.Optional({ ...directionSchema, description: 'Only what came `in`, or only what went `out`.' }),
    asset: Type.Optional(searchText(64, { description: 'Only this asset: a symbol or a contract address.' })),
  }),
  response: { 200: successOf(activityPageSchema, 'A page of the activity.') },
}

export function activityRoutes({ pool, findWallet }: ApiContext): Routes {
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/activity',
      { schema: list, config: { scope: 'transactions:read' } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { wallet_id: walletId } = request.params
        const { limit, cursor, direction, asset } = request.query
        await findWallet({ tenantId, environment }, walletId)
        const [before] = cursor === undefined ? [] : decodeCursor(LIST, 1, cursor)
        const found = await readActivity(pool, { tenantId, walletId, direction, asset, before, limit: limit + 1 })
        return success(pageOf(LIST, { found, limit, keyOf: ({ place }) => [place], present: toEntry }))
      },
    )
  }
}
