/** Making wallets and watching addresses: parse, call, reply. */
import { parseAddress } from '../chain/address.ts'
import type { ChainKey } from '../core/networks.ts'
import { environmentOf } from '../http/caller.ts'
import { success, successOf } from '../http/envelope.ts'
import { markReplayed } from '../http/idempotency.ts'
import { applyPreference, preferenceOf } from '../http/prefer.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import type { WalletReads } from './read-wallets.ts'
import type { RequestWallet } from './request-wallet.ts'
import { createBody, createdSchema, notificationsOf, watchBody, watchedSchema } from './schemas.ts'
import { toCreated, toWatched } from './view.ts'
import { DEFAULT_ADDRESS_WAIT_MS, type WaitForWallet } from './wait-for-wallet.ts'
import type { WatchWallet } from './watch-wallet.ts'

export type OpeningRoutePorts = {
  /** @throws ValidationFailed `network_not_configured`, naming the setting */
  readonly chainIdOf: (key: ChainKey) => number
  readonly requestWallet: RequestWallet
  readonly watchWallet: WatchWallet
  readonly waitForWallet: WaitForWallet
  readonly reads: WalletReads
}

const tags = ['Wallets']

const create = {
  tags,
  summary: 'Create a wallet',
  description:
    'Makes a wallet with a key of its own. The key of an mpc wallet never exists in one place: each of several parties holds a ' +
    'share of it, and some of them sign together. Should that take longer than the answer waits, it is a 202 with ' +
    '`address: null` and status `requested`, and reading the wallet shows the address later.',
  body: createBody,
  response: {
    201: successOf(createdSchema, 'The wallet is there.'),
    202: successOf(createdSchema, 'The wallet is accepted; its address follows.'),
  },
}

const watch = {
  tags,
  summary: 'Watch an address',
  description:
    'Follows the balance and the deposits of an address whose key is elsewhere. Nothing can be sent from it.',
  body: watchBody,
  response: { 201: successOf(watchedSchema, 'The address is watched.') },
}

export function openingRoutes(ports: OpeningRoutePorts): Routes {
  const { chainIdOf, requestWallet, watchWallet, waitForWallet, reads } = ports
  return (app) => {
    app.post(
      '/v1/wallets/create',
      {
        schema: create,
        config: {
          scope: 'wallets:write',
          idempotent: true,
          quotas: ['wallets', 'ceremonies'],
          waits: 'for the address, 10 seconds at most, 30 for an mpc wallet',
          refusals: {
            409: 'The external_id names another wallet.',
            503: 'No signer of this type is running, or too few mpc parties.',
          },
        },
      },
      async (request, reply) => {
        const { type, network, label = '', external_id: externalId = null, mpc = null } = request.body
        const environment = environmentOf(request.caller, request.body.environment)
        const chainId = chainIdOf({ network, environment })
        const wanted = { type, network, environment, chainId, label, externalId, mpc }
        const opened = await requestWallet(wanted, { metadata: metadataOf(request) })
        const preference = preferenceOf(request)
        applyPreference(reply, preference)
        const waitMs = preference.waitMs ?? DEFAULT_ADDRESS_WAIT_MS[type]
        if (waitMs > 0) await waitForWallet(opened.id, waitMs)
        if (opened.replayed) markReplayed(reply)
        const view = await reads.read(request.caller, opened.id)
        return reply.code(view.address === null ? 202 : 201).send(success(toCreated(view)))
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
          refusals: { 409: 'The address is watched on this network already, or is that of a wallet of yours.' },
        },
      },
      async (request, reply) => {
        const { network, label = '', notifications = {} } = request.body
        const environment = environmentOf(request.caller, request.body.environment)
        const chainId = chainIdOf({ network, environment })
        const address = parseAddress(request.body.address, 'address')
        const wanted = { address, network, environment, chainId, label, notifications: notificationsOf(notifications) }
        const opened = await watchWallet(wanted, { metadata: metadataOf(request) })
        if (opened.replayed) markReplayed(reply)
        return reply.code(201).send(success(toWatched(await reads.read(request.caller, opened.id))))
      },
    )
  }
}
