/** The shares of mpc wallets: reading of them, making them anew, repairing a lost one: parse, call, reply. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { success, successOf } from '../http/envelope.ts'
import { markReplayed } from '../http/idempotency.ts'
import { applyPreference, preferenceOf } from '../http/prefer.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import type { FindWallet } from '../wallets/find-wallet.ts'
import { walletParams } from '../wallets/schemas.ts'
import { keyIdOf } from './key-of-wallet.ts'
import type { SharesReads } from './read-shares.ts'
import type { RequestRefresh } from './request-refresh.ts'
import { recoverBody, refreshSchema, sharesSchema } from './schemas.ts'
import { DEFAULT_REFRESH_WAIT_MS, type UntilRefreshed } from './wait-for-refresh.ts'

export type ShareRoutePorts = {
  readonly findWallet: FindWallet
  readonly requestRefresh: RequestRefresh
  readonly reads: SharesReads
  readonly untilRefreshed: UntilRefreshed
}

const tags = ['Recovery']
const params = walletParams

const read = {
  tags,
  summary: 'Read the state of the shares',
  description: 'How the key of an mpc wallet is divided, how old its shares are, and whether they are being made anew.',
  params,
  response: { 200: successOf(sharesSchema, 'The state of the shares.') },
}

const answers = {
  200: successOf(refreshSchema, 'It has ended: `status` tells how.'),
  202: successOf(refreshSchema, 'It is accepted and under way.'),
}

const refresh = {
  tags,
  summary: 'Refresh the shares',
  description:
    'Makes new shares of the same key at all parties; the address stays. From then on the old shares are useless, in backups and in ' +
    'the hands of a thief too, and parties that were banned may sign again. While a party is down it waits, and after five minutes it fails.',
  params,
  response: answers,
}

const recover = {
  tags,
  summary: 'Recover a lost share',
  description:
    "Repairs the share of a party that lost it, from those of the others and without putting the key together, and refreshes everybody's " +
    'in the same ceremony. The address stays. While a party is down it waits, and after five minutes it fails.',
  params,
  body: recoverBody,
  response: answers,
}

const changing = {
  scope: 'recovery:write',
  idempotent: true,
  quotas: ['ceremonies'],
  waits: 'for the new shares, 10 seconds at most',
  refusals: {
    409: 'The shares are being made anew already, or the wallet has no key yet.',
    422: 'The wallet is not an mpc wallet, or has no such party.',
  },
} as const

export function shareRoutes(ports: ShareRoutePorts): Routes {
  const { reads } = ports
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
        const wallet = await ports.findWallet(request.caller, request.params.wallet_id)
        keyIdOf(wallet)
        return success(await reads.read(wallet.walletId))
      },
    )

    app.post('/v1/wallets/:wallet_id/shares/refresh', { schema: refresh, config: changing }, async (request, reply) =>
      begin(ports, request, reply, { walletId: request.params.wallet_id, lostBy: null }),
    )

    app.post('/v1/wallets/:wallet_id/shares/recover', { schema: recover, config: changing }, async (request, reply) =>
      begin(ports, request, reply, { walletId: request.params.wallet_id, lostBy: request.body.party }),
    )
  }
}

async function begin(
  { findWallet, requestRefresh, reads, untilRefreshed }: ShareRoutePorts,
  request: FastifyRequest,
  reply: FastifyReply,
  { walletId, lostBy }: { readonly walletId: string; readonly lostBy: number | null },
) {
  const wallet = await findWallet(request.caller, walletId)
  const { id, replayed } = await requestRefresh(wallet, lostBy, { metadata: metadataOf(request) })
  if (replayed) markReplayed(reply)
  const preference = preferenceOf(request)
  applyPreference(reply, preference)
  const waitMs = preference.waitMs ?? DEFAULT_REFRESH_WAIT_MS
  if (waitMs > 0) await untilRefreshed(id, waitMs)
  const view = await reads.readRefresh(id)
  return reply.code(view.status === 'pending' ? 202 : 200).send(success(view))
}
