/** HTTP routes that create wallets and watch addresses. */
import type { Static } from '@sinclair/typebox'
import { parseAddress } from '../chain/address.ts'
import type { CountedQuota } from '../core/registry.ts'
import { environmentOf } from '../http/caller.ts'
import { successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { askedTags } from './asked-tags.ts'
import type { KeyedType } from './events.ts'
import { readWallet } from './read-wallets.ts'
import { type OpeningContext, requestWallet } from './request-wallet.ts'
import { createBody, createdSchema, notificationsOf, watchBody, watchedSchema } from './schemas.ts'
import { toCreated, toWatched } from './view.ts'
import { DEFAULT_ADDRESS_WAIT_MS } from './wait-for-wallet.ts'
import { watchWallet } from './watch-wallet.ts'

const tags = ['Wallets']

const create = {
  tags,
  operationId: 'createWallet',
  summary: 'Create a wallet',
  description:
    'Creates a wallet with its own key. The key of an `mpc` wallet never exists in one place: several parties hold a share each, ' +
    'and a threshold of them sign together. If the key is not ready in time, the response is 202 with `address: null` and status ' +
    '`requested`; read the wallet later to get its address.',
  body: createBody,
  response: {
    201: successOf(createdSchema, 'The wallet is created.'),
    202: successOf(createdSchema, 'The wallet is accepted. Its address is not known yet.'),
  },
}

const watch = {
  tags,
  operationId: 'watchAddress',
  summary: 'Watch an address',
  description:
    'Creates a watch-only wallet, which follows the balance and the deposits of an address whose key is held elsewhere. ' +
    'It cannot send.',
  body: watchBody,
  response: { 201: successOf(watchedSchema, 'The address is watched.') },
}

/** What one new wallet counts for. */
export function openingQuotas(type: KeyedType): readonly CountedQuota[] {
  return ['wallets', type === 'mpc' ? 'ceremonies' : 'waiting_addresses']
}

export function openingRoutes(ctx: OpeningContext): Routes {
  return (app) => {
    app.post(
      '/v1/wallets/create',
      {
        schema: create,
        config: {
          scope: 'wallets:write',
          idempotent: true,
          quotas: (body) => openingQuotas((body as Static<typeof createBody>).type),
          waits: 'up to 10 seconds for the address, 30 for an mpc wallet',
          refusals: {
            403: 'The API key may not tag wallets: `insufficient_scope`.',
            409: 'Another wallet has this external_id.',
            503: 'No signer of this wallet type is running, or too few mpc parties are.',
          },
        },
      },
      (request, reply) => {
        const { type, network, label = '', external_id: externalId = null, mpc = null } = request.body
        const environment = environmentOf(request.caller, request.body.environment)
        const chainId = ctx.chains.get({ network, environment }).settings.chainId
        const tags = askedTags(request.caller.scopes, request.body.tags)
        const wanted = { type, network, environment, chainId, label, externalId, mpc, ...tags }
        return replyAccepted(request, reply, {
          accept: (metadata) => requestWallet(ctx, wanted, { metadata }),
          async answer({ id }, waitMs, over) {
            const limitMs = waitMs ?? DEFAULT_ADDRESS_WAIT_MS[type]
            if (limitMs > 0) await ctx.waitForWallet(id, limitMs, over)
            const view = await readWallet(ctx, request.caller, id)
            return { code: view.address === null ? 202 : 201, view: toCreated(view) }
          },
        })
      },
    )

    app.post(
      '/v1/wallets/watch',
      {
        schema: watch,
        config: {
          scope: 'wallets:write',
          idempotent: true,
          quotas: ['watched_addresses'],
          refusals: { 409: 'You already watch this address on this network, or it belongs to one of your wallets.' },
        },
      },
      (request, reply) => {
        const { network, label = '', notifications = {} } = request.body
        const environment = environmentOf(request.caller, request.body.environment)
        const chainId = ctx.chains.get({ network, environment }).settings.chainId
        const address = parseAddress(request.body.address, 'address')
        const wanted = { address, network, environment, chainId, label, notifications: notificationsOf(notifications) }
        return replyAccepted(request, reply, {
          accept: (metadata) => watchWallet(ctx, wanted, { metadata }),
          answer: async ({ id }) => ({ code: 201, view: toWatched(await readWallet(ctx, request.caller, id)) }),
        })
      },
    )
  }
}
