/** Listing and registering assets: parse, call, reply. */
import { type TSchema, Type } from '@sinclair/typebox'
import { ValidationFailed } from '../core/errors.ts'
import { type ChainKey, type Environment, NETWORKS } from '../core/networks.ts'
import { environmentOf } from '../http/caller.ts'
import { success, successOf } from '../http/envelope.ts'
import { markReplayed } from '../http/idempotency.ts'
import { decodeCursor, type Page, pageOf, pageQuery, pageSchema } from '../http/paging.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import {
  addressSchema,
  closedObject,
  environmentSchema,
  instantSchema,
  networkSchema,
  nullable,
  oneOf,
} from '../http/schemas.ts'
import type { AssetChain } from './asset-index.ts'
import type { ListAssets, PricedAsset } from './list-assets.ts'
import type { RegisterAsset } from './register-asset.ts'

export type AssetRoutePorts = {
  /** The configured chains of an environment, in the order in which they are listed. */
  readonly chainsOf: (environment: Environment) => readonly AssetChain[]
  /** @throws ValidationFailed `network_not_configured`, naming the setting */
  readonly chainOf: (key: ChainKey) => AssetChain
  readonly listAssets: ListAssets
  readonly registerAsset: RegisterAsset
}

const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const tags = ['Assets']

type AssetView = {
  readonly asset_id: string
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  readonly contract_address: string | null
  readonly network: string
  readonly environment: string
  readonly price_usd: string | null
  readonly price_at: string | null
}

const assetSchema = Type.Unsafe<AssetView>(
  Type.Object({
    asset_id: Type.String({ description: 'CAIP-19.', examples: [`eip155:1/erc20:${TOKEN}`] }),
    symbol: Type.String({ examples: ['USDC'] }),
    name: Type.String({ examples: ['USD Coin'] }),
    decimals: Type.Integer({ description: 'Digits after the point that an amount may have.', examples: [6] }),
    contract_address: nullable(
      Type.String({ description: 'Null for the currency that pays for gas.', examples: [TOKEN] }),
    ),
    network: networkSchema,
    environment: environmentSchema,
    price_usd: nullable(
      Type.String({
        description: 'US dollars for one, as read on chain; null when no price is known.',
        examples: ['0.9998'],
      }),
    ),
    price_at: nullable(instantSchema),
  }),
)

const assetPageSchema = Type.Unsafe<Page<'assets', AssetView>>(pageSchema('assets', assetSchema as TSchema))

const list = {
  tags,
  summary: 'List assets',
  description:
    'What transfers and balances can name: on each network its own currency first, then the configured tokens, then those ' +
    'that you registered, in the order in which you did.',
  querystring: closedObject({
    ...pageQuery,
    network: Type.Optional(oneOf(NETWORKS, { description: 'Only on this chain.' })),
  }),
  response: { 200: successOf(assetPageSchema, 'One page.') },
}

const register = {
  tags,
  summary: 'Register a token',
  description:
    'Makes an ERC-20 token known to you by its symbol. Symbol and decimals are read on chain. One that is known already is ' +
    'answered as it is.',
  body: closedObject({
    network: networkSchema,
    environment: Type.Optional(environmentSchema),
    contract_address: { ...addressSchema, examples: [TOKEN] },
  }),
  response: {
    200: successOf(assetSchema, 'The token was known already.'),
    201: successOf(assetSchema, 'The token is registered.'),
  },
}

export function assetRoutes({ chainsOf, chainOf, listAssets, registerAsset }: AssetRoutePorts): Routes {
  return (app) => {
    app.get('/v1/assets', { schema: list, config: { scope: 'assets:read' } }, async (request) => {
      const { tenantId, environment } = request.caller
      const { network, limit, cursor } = request.query
      const chains = network === undefined ? chainsOf(environment) : [chainOf({ network, environment })]
      const all = await listAssets(tenantId, chains)
      const first = cursor === undefined ? 0 : placeAfter(all, cursor)
      const found = all.slice(first, first + limit + 1)
      const keyOf = ({ asset }: PricedAsset) => [asset.assetId]
      return success(pageOf('assets', { found, limit, keyOf, present: toAnswer }))
    })

    app.post(
      '/v1/assets',
      {
        schema: register,
        config: {
          scope: 'assets:write',
          idempotent: true,
          quotas: ['assets'],
          refusals: { 503: 'No node of the network answers.' },
        },
      },
      async (request, reply) => {
        const { network, contract_address } = request.body
        const chain = chainOf({ network, environment: environmentOf(request.caller, request.body.environment) })
        const metadata = metadataOf(request)
        const { asset, isNew, replayed } = await registerAsset(chain, contract_address, { metadata })
        if (replayed) markReplayed(reply)
        const priced = (await listAssets(metadata.tenantId, [chain])).find(
          (known) => known.asset.assetId === asset.assetId,
        )
        return reply
          .code(isNew || replayed ? 201 : 200)
          .send(success(toAnswer(priced ?? { asset, chain, price: null })))
      },
    )
  }
}

/** Assets are few and never leave the list, so its own order is all that a cursor needs. */
function placeAfter(all: readonly PricedAsset[], cursor: string): number {
  const [last] = decodeCursor('assets', 1, cursor)
  const place = all.findIndex(({ asset }) => asset.assetId === last)
  if (place !== -1) return place + 1
  throw ValidationFailed.field(
    'cursor',
    'invalid_cursor',
    'cursor is of a list of other networks: leave it out to start anew.',
  )
}

function toAnswer({ asset, chain, price }: PricedAsset): AssetView {
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
  }
}
