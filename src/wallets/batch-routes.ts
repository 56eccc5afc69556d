/** HTTP routes that open many wallets: of a batch, or of one key on other networks. */
import type { Static } from '@sinclair/typebox'
import { WALLETS_BODY } from '../http/body-limits.ts'
import { environmentOf } from '../http/caller.ts'
import { successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { askedTags } from './asked-tags.ts'
import { openedNetworksSchema, openNetworksBody, walletBatchSchema, walletsBody } from './batch-schemas.ts'
import type { FindWallet } from './find-wallet.ts'
import { type OpenNetworksContext, openNetworks, readNetworks } from './open-networks.ts'
import { openingQuotas } from './opening-routes.ts'
import type { OpeningContext } from './request-wallet.ts'
import { readWalletBatch, requestWallets } from './request-wallets.ts'
import { walletParams } from './schemas.ts'
import { toCreated } from './view.ts'
import { DEFAULT_ADDRESS_WAIT_MS } from './wait-for-wallet.ts'

export type BatchContext = OpeningContext & OpenNetworksContext & { readonly findWallet: FindWallet }

const tags = ['Wallets']

const batch = {
  tags,
  operationId: 'createWallets',
  summary: 'Create several wallets',
  description:
    'Creates up to 1,000 wallets of one type and network, each with its own key. All are accepted, or none. One Idempotency-Key ' +
    'covers the batch. If some keys are not ready in time, the response is 202 and these wallets have `address: null` and status ' +
    '`requested`: repeat the request with the same key, or read the wallets later.',
  body: walletsBody,
  response: {
    201: successOf(walletBatchSchema, 'The wallets are created.'),
    202: successOf(walletBatchSchema, 'The wallets are accepted. Some addresses are not known yet.'),
  },
}

const networks = {
  tags,
  operationId: 'openWalletNetworks',
  summary: 'Open a wallet on other networks',
  description:
    'Opens the address of an hd or mpc wallet on other networks of its environment: a wallet with an id of its own for each, with ' +
    'the same key and the tags of the wallet. Balances, nonces and transactions are separate. Where the key has a wallet already, ' +
    'that one is returned, possibly `archived`. Whoever exports the key has it for all of them.',
  params: walletParams,
  body: openNetworksBody,
  response: { 201: successOf(openedNetworksSchema, 'The wallet of each network.') },
}

export function batchRoutes(ctx: BatchContext): Routes {
  return (app) => {
    app.post(
      '/v1/wallets/batch',
      {
        schema: batch,
        config: {
          scope: 'wallets:write',
          idempotent: true,
          quotas(body) {
            const { items, type } = body as Static<typeof walletsBody>
            return items.flatMap(() => openingQuotas(type))
          },
          body: WALLETS_BODY,
          waits: 'up to 10 seconds for the addresses, 30 for mpc wallets',
          refusals: {
            403: 'The API key may not tag wallets: `insufficient_scope`.',
            409: 'Other wallets have some of the external_ids.',
            503: 'No signer of this wallet type is running, or too few mpc parties are.',
          },
        },
      },
      (request, reply) => {
        const { type, network, items, label = '', mpc = null } = request.body
        const environment = environmentOf(request.caller, request.body.environment)
        const chainId = ctx.chains.get({ network, environment }).settings.chainId
        const wanted = {
          ...{ type, network, environment, chainId, mpc },
          ...askedTags(request.caller.scopes, request.body.tags),
          items: items.map((item) => ({ label: item.label ?? label, externalId: item.external_id ?? null })),
        }
        return replyAccepted(request, reply, {
          accept: (metadata) => requestWallets(ctx, wanted, { metadata }),
          async answer({ id }, waitMs, over) {
            const limitMs = waitMs ?? DEFAULT_ADDRESS_WAIT_MS[type]
            if (limitMs > 0) await ctx.waitForBatch(id, limitMs, over)
            const wallets = (await readWalletBatch(ctx, request.caller, id)).map(toCreated)
            const isDone = wallets.every(({ address }) => address !== null)
            return { code: isDone ? 201 : 202, view: { batch_id: id, wallets } }
          },
        })
      },
    )

    app.post(
      '/v1/wallets/:wallet_id/networks',
      {
        schema: networks,
        config: {
          scope: 'wallets:write',
          idempotent: true,
          quotas: (body) => (body as Static<typeof openNetworksBody>).networks.flatMap(() => openingQuotas('hd')),
          refusals: {
            409: 'The wallet is archived or has no address yet, or you watch its address on one of the networks.',
          },
        },
      },
      async (request, reply) => {
        const wallet = await ctx.findWallet(request.caller, request.params.wallet_id)
        const { label = null } = request.body
        const { environment } = wallet
        const places = request.body.networks.map((network) => {
          const { chainId } = ctx.chains.get({ network, environment }).settings
          return { network, environment, chainId }
        })
        return replyAccepted(request, reply, {
          accept: (metadata) => openNetworks(ctx, wallet, { places, label }, { metadata }),
          async answer() {
            const found = await readNetworks(ctx, request.caller, wallet, request.body.networks)
            return { code: 201, view: { wallets: found.map(toCreated) } }
          },
        })
      },
    )
  }
}
