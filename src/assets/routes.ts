/** HTTP routes that list, register and remove assets. */

import { Type } from '@sinclair/typebox'
import type { Context } from '../context.ts'
import { ValidationFailed } from '../core/errors.ts'
import { type ChainKey, type Environment, NETWORKS } from '../core/networks.ts'
import { environmentOf } from '../http/caller.ts'
import { named } from '../http/components.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery, pageSchema } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  instant,
  networkSchema,
  nullable,
  oneOf,
} from '../http/schemas.ts'
import type { View } from '../http/view.ts'
import type { AssetChain } from './asset-index.ts'
import { listAssets, type PricedAsset } from './list-assets.ts'
import { type RegisterAssetContext, registerAsset } from './register-asset.ts'
import { removeAsset } from './remove-asset.ts'
import { assetNames, assetPlace, TOKEN } from './schemas.ts'
import { UNREADABLE_REASONS } from './unreadable.ts'

export type AssetContext = RegisterAssetContext & { readonly chains: Pick<Context['chains'], 'all' | 'get'> }

const tags = ['Assets']

const assetSchema = named(
  'Asset',
  Type.Object({
    ...assetNames,
    contract_address: nullable(
      Type.String({ description: 'The token contract. Null for the native currency.', examples: [TOKEN] }),
    ),
    ...assetPlace,
    price_usd: nullable(
      Type.String({
        description: 'The price of one unit in US dollars, read on chain. Null if no price is known.',
        examples: ['0.9998'],
      }),
    ),
    price_at: nullable(instant('When the price was set. Null if no price is known.')),
    unreadable: Type.Optional(
      Type.Object(
        {
          since: instant('When reading first failed.'),
          reason: oneOf(UNREADABLE_REASONS, {
            description:
              'What `balanceOf` did. `gas`: it used up its gas. `size`: it returned too much data. `none`: it reverted or ' +
              'returned no number. `timeout`: the nodes did not respond in time.',
          }),
          retry_at: instant('When reading is tried again.'),
        },
        {
          description:
            'Present only if the contract cannot be read. Its balances may be out of date, and transfers of it are refused.',
        },
      ),
    ),
    removed_at: Type.Optional(instant('When the asset was removed. Present only if it was.')),
  }),
)

type AssetView = View<typeof assetSchema>

const assetPageSchema = named('AssetPage', pageSchema('assets', assetSchema))

const list = {
  tags,
  operationId: 'listAssets',
  summary: 'List assets',
  description:
    'Lists the assets that transfers and balances can name. On each network the native currency comes first, then the configured ' +
    'tokens, then the tokens that you registered, oldest first.',
  querystring: closedObject({
    ...pageQuery,
    network: Type.Optional(oneOf(NETWORKS, { description: 'Only assets on this network.' })),
  }),
  response: { 200: successOf(assetPageSchema, 'A page of assets.') },
}

const register = {
  tags,
  operationId: 'registerAsset',
  summary: 'Register a token',
  description:
    'Registers an ERC-20 token, so that you can name it by its symbol. The symbol and the decimals are read on chain, within limits: ' +
    '500,000 gas and 1,024 bytes for each call, a symbol of at most 64 bytes, and at most 77 decimals. A token that is already known is ' +
    'returned unchanged.',
  body: closedObject({
    network: networkSchema,
    environment: Type.Optional(environmentSchema),
    contract_address: {
      ...addressSchema,
      description: `The ERC-20 contract. ${addressSchema.description}`,
      examples: [TOKEN],
    },
  }),
  response: {
    200: successOf(assetSchema, 'The token was already known.'),
    201: successOf(assetSchema, 'The token is registered.'),
  },
}

const remove = {
  tags,
  operationId: 'removeAsset',
  summary: 'Remove an asset',
  description:
    'Removes a token that you registered. It can no longer be named, and its balances are no longer read for you. Nothing happens ' +
    'on chain, and its transactions can still be read. Removing it again returns the same response. Registering it again undoes it.',
  params: closedObject({
    asset_id: Type.String({
      description: 'The id of the asset as `GET /v1/assets` lists it. Percent-encode it, because it contains a slash.',
      examples: [`eip155:1/erc20:${TOKEN}`],
      maxLength: 128,
    }),
  }),
  response: { 200: successOf(assetSchema, 'The removed asset, with `removed_at`.') },
}

export function assetRoutes(ctx: AssetContext): Routes {
  /** The configured chains of an environment, in list order. */
  const chainsOf = (environment: Environment): readonly AssetChain[] =>
    ctx.chains.all.map(({ settings }) => settings).filter((settings) => settings.environment === environment)
  const chainOf = (key: ChainKey): AssetChain => ctx.chains.get(key).settings
  return (app) => {
    app.get('/v1/assets', { schema: list, config: { scope: 'assets:read' } }, async (request) => {
      const { tenantId, environment } = request.caller
      const { network, limit, cursor } = request.query
      const chains = network === undefined ? chainsOf(environment) : [chainOf({ network, environment })]
      const all = await listAssets(ctx, tenantId, chains)
      const first = cursor === undefined ? 0 : placeAfter(all, cursor)
      const found = all.slice(first, first + limit + 1)
      const keyOf = ({ asset }: PricedAsset) => [asset.assetId]
      return success(pageOf('assets', { found, limit, keyOf, present: (priced) => toAnswer(priced) }))
    })

    app.post(
      '/v1/assets',
      {
        schema: register,
        config: {
          scope: 'assets:write',
          idempotent: true,
          quotas: ['assets'],
          refusals: { 503: 'No node of the network is available.' },
        },
      },
      (request, reply) => {
        const { network, contract_address } = request.body
        const chain = chainOf({ network, environment: environmentOf(request.caller, request.body.environment) })
        return replyAccepted(request, reply, {
          accept: (metadata) => registerAsset(ctx, chain, contract_address, { metadata }),
          async answer({ asset, isNew, removedAt }) {
            const listed = await listAssets(ctx, request.caller.tenantId, [chain])
            const priced = listed.find((known) => known.asset.assetId === asset.assetId)
            const view = toAnswer(priced ?? { asset, chain, ...NOT_LISTED }, removedAt)
            return { code: isNew ? 201 : 200, view }
          },
        })
      },
    )

    const removeRefusals = { 409: 'You did not register the asset, or transactions of it are pending.' }
    app.delete(
      '/v1/assets/:asset_id',
      { schema: remove, config: { scope: 'assets:write', refusals: removeRefusals } },
      async (request) => {
        const chains = chainsOf(request.caller.environment)
        const metadata = metadataOf(request)
        const { asset, chain, removedAt } = await removeAsset(ctx, chains, request.params.asset_id, { metadata })
        return success(toAnswer({ asset, chain, ...NOT_LISTED }, removedAt))
      },
    )
  }
}

const NOT_LISTED = { price: null, unreadable: null } as const

/**
 * Assets are few, so a cursor is only a place in the list's order; the place of an asset that was removed since is
 * invalid.
 */
function placeAfter(all: readonly PricedAsset[], cursor: string): number {
  const [last] = decodeCursor('assets', 1, cursor)
  const place = all.findIndex(({ asset }) => asset.assetId === last)
  if (place !== -1) return place + 1
  throw ValidationFailed.field(
    'cursor',
    'invalid_cursor',
    'cursor belongs to a list of other networks, or its asset was removed: omit it to start again.',
  )
}

function toAnswer({ asset, chain, price, unreadable }: PricedAsset, removedAt: string | null = null): AssetView {
  return {
    asset_id: asset.assetId,
    symbol: asset.symbol,
    name: asset.name,
    decimals: asset.decimals,
    contract_address: asset.contract,
    network: chain.network,
    environment: chain.environment,
    price_usd: price?.usd ?? null,
    price_at: price?.at ?? null,
    ...(unreadable === null
      ? {}
      : { unreadable: { since: unreadable.since, reason: unreadable.reason, retry_at: unreadable.retryAt } }),
    ...(removedAt === null ? {} : { removed_at: removedAt }),
  }
}
