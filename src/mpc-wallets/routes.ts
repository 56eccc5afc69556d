/** HTTP routes that read, refresh and recover the key shares of mpc wallets. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiContext } from '../api-context.ts'
import type { Row } from '../event-log/table-rows.ts'
import { waitUntilRow } from '../event-log/wait-until.ts'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { walletParams } from '../wallets/schemas.ts'
import { keyIdOf } from './key-of-wallet.ts'
import { readRefresh, readShares } from './read-shares.ts'
import { requestRefresh } from './request-refresh.ts'
import { recoverBody, refreshSchema, sharesSchema } from './schemas.ts'
import { OPEN } from './sql.ts'

/** Default time that a request waits, ms: a ceremony takes a second or two when all parties are alive. */
const DEFAULT_REFRESH_WAIT_MS = 10_000

type ShareContext = Parameters<typeof requestRefresh>[0] & Pick<ApiContext, 'findWallet' | 'pool' | 'wakeUps'>

const tags = ['Recovery']
const params = walletParams

const read = {
  tags,
  operationId: 'getWalletShares',
  summary: 'Get the state of the key shares',
  description:
    'Returns how the key of an mpc wallet is divided, how old its shares are, and whether a refresh is in progress.',
  params,
  response: { 200: successOf(sharesSchema, 'The state of the key shares.') },
}

const answers = {
  200: successOf(refreshSchema, 'The refresh has ended. `status` has the outcome.'),
  202: successOf(refreshSchema, 'The refresh is accepted and in progress.'),
}

const refresh = {
  tags,
  operationId: 'refreshWalletShares',
  summary: 'Refresh the key shares',
  description:
    'Creates new shares of the same key at all parties. The address does not change. The old shares become useless, including ' +
    'stolen shares and those in backups, and banned parties can sign again. If a party is down, the refresh waits for it and fails ' +
    'after five minutes.',
  params,
  response: answers,
}

const recover = {
  tags,
  operationId: 'recoverWalletShare',
  summary: 'Recover a lost key share',
  description:
    'Restores the share of a party that lost it from the shares of the other parties, without reconstructing the key, and refreshes ' +
    'all shares in the same ceremony. The address does not change. If a party is down, the recovery waits for it and fails after ' +
    'five minutes.',
  params,
  body: recoverBody,
  response: answers,
}

const changing = {
  scope: 'recovery:write',
  idempotent: true,
  quotas: ['ceremonies'],
  waits: 'up to 10 seconds for the new shares',
  refusals: {
    409: 'A refresh is already in progress, or the wallet has no key yet.',
    422: 'The wallet is not an mpc wallet, or does not have this party.',
  },
} as const

export function shareRoutes(ctx: ShareContext): Routes {
  /** By refresh: resolves once it has succeeded or failed, or with `null` after the timeout. */
  const untilRefreshed = waitUntilRow<Pick<Row<'mpc_refreshes'>, 'refresh_id'>>(ctx, {
    name: 'ended_refreshes',
    text: `SELECT refresh_id FROM mpc_refreshes WHERE refresh_id = ANY($1) AND NOT ${OPEN}`,
    id: 'refresh_id',
  })
  const begin = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { walletId, lostBy }: { readonly walletId: string; readonly lostBy: number | null },
  ) => {
    const wallet = await ctx.findWallet(request.caller, walletId)
    return replyAccepted(request, reply, {
      accept: (metadata) => requestRefresh(ctx, wallet, lostBy, { metadata }),
      async answer({ id }, waitMs, over) {
        const limitMs = waitMs ?? DEFAULT_REFRESH_WAIT_MS
        if (limitMs > 0) await untilRefreshed(id, limitMs, over)
        const view = await readRefresh(ctx, id)
        return { code: view.status === 'pending' ? 202 : 200, view }
      },
    })
  }
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/shares',
      {
        schema: read,
        config: {
          scope: 'recovery:read',
          refusals: { 409: 'The wallet has no key yet.', 422: 'The wallet is not an mpc wallet.' },
        },
      },
      async (request) => {
        const wallet = await ctx.findWallet(request.caller, request.params.wallet_id)
        return success(await readShares(ctx, wallet.walletId, keyIdOf(wallet)))
      },
    )

    app.post('/v1/wallets/:wallet_id/shares/refresh', { schema: refresh, config: changing }, async (request, reply) =>
      begin(request, reply, { walletId: request.params.wallet_id, lostBy: null }),
    )

    app.post('/v1/wallets/:wallet_id/shares/recover', { schema: recover, config: changing }, async (request, reply) =>
      begin(request, reply, { walletId: request.params.wallet_id, lostBy: request.body.party }),
    )
  }
}
