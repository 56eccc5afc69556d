/** HTTP routes that create and read collections. */
import type { Static } from '@sinclair/typebox'
import { METADATA_BODY } from '../../http/body-limits.ts'
import { success, successOf } from '../../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery } from '../../http/paging.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import { closedObject } from '../../http/schemas.ts'
import type { NftContext } from '../nft-context.ts'
import type { CollectionRow } from './read-collections.ts'
import { type CollectionRequest, requestCollection } from './request-collection.ts'
import { collectionPageSchema, collectionParams, collectionSchema, createBody, listQuery } from './schemas.ts'
import { collectionStatus, toCollectionView } from './view.ts'

/** Default time that a response waits for the block, ms. */
export const MINED_WAIT_MS = 15_000

const tags = ['NFT']

const create = {
  tags,
  operationId: 'createNftCollection',
  summary: 'Create a collection',
  description:
    'Deploys a contract that you own. Its address is known immediately; `status` says whether it is deployed, and you can already ' +
    'request mints. Without `wallet_id` the owner is your issuer wallet, an hd wallet that is created on first use and needs a ' +
    'balance for gas (the sandbox funds it).',
  body: createBody,
  response: {
    201: successOf(collectionSchema, 'The contract is deployed.'),
    202: successOf(collectionSchema, 'The collection is accepted. Its contract is not in a block yet.'),
  },
}

const list = {
  tags,
  operationId: 'listNftCollections',
  summary: 'List collections',
  description: 'Lists your collections, newest first.',
  querystring: closedObject({ ...pageQuery, ...listQuery }),
  response: { 200: successOf(collectionPageSchema, 'A page of collections.') },
}

const detail = {
  tags,
  operationId: 'getNftCollection',
  summary: 'Get a collection',
  description: 'Returns one collection with the status of its contract.',
  params: collectionParams,
  response: { 200: successOf(collectionSchema, 'The collection.') },
}

export function collectionRoutes(ctx: NftContext): Routes {
  const { collections } = ctx
  return (app) => {
    app.post(
      '/v1/nft/collections/create',
      {
        schema: create,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          body: METADATA_BODY,
          waits: 'up to 15 seconds for the contract to be in a block',
          refusals: {
            404: 'The body names a wallet that is not known.',
            409: 'The wallet is archived.',
            503: 'No signer is running, no node is available, gas costs more than the cap, or IPFS did not accept the metadata.',
          },
        },
      },
      (request, reply) => {
        const owner = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) => requestCollection(ctx, toRequest(request.body), metadata, owner.environment),
          async answer({ id }, waitMs, over) {
            let row = await collections.read(owner, id)
            const limitMs = waitMs ?? MINED_WAIT_MS
            if (collectionStatus(row) === 'DEPLOYING' && limitMs > 0) {
              await ctx.transactions.untilMined(row.transaction_id, limitMs, over)
              row = await collections.read(owner, id)
            }
            return { code: collectionStatus(row) === 'DEPLOYED' ? 201 : 202, view: toCollectionView(row) }
          },
        })
      },
    )

    app.get('/v1/nft/collections', { schema: list, config: { scope: 'nft:read' } }, async (request) => {
      const { limit, cursor, collection_type: collectionType, wallet_id: walletId, ...filter } = request.query
      const [before] = cursor === undefined ? [] : decodeCursor('collections', 1, cursor)
      const found = await collections.list(request.caller, {
        ...filter,
        collectionType,
        walletId,
        before,
        limit: limit + 1,
      })
      const keyOf = (row: CollectionRow) => [row.collection_id]
      return success(pageOf('collections', { found, limit, keyOf, present: toCollectionView }))
    })

    app.get('/v1/nft/collections/:collection_id', { schema: detail, config: { scope: 'nft:read' } }, async (request) =>
      success(toCollectionView(await collections.read(request.caller, request.params.collection_id))),
    )
  }
}

function toRequest(body: Static<typeof createBody>): CollectionRequest {
  return {
    name: body.name,
    symbol: body.symbol,
    description: body.description,
    externalUrl: body.metadata?.external_url,
    image: body.metadata?.image,
    standard: body.standard ?? 'ERC721',
    collectionType: body.collection_type ?? 'STANDARD',
    network: body.network ?? null,
    walletId: body.wallet_id ?? null,
    // Two decimals of a percent are whole basis points; rounding removes the error of binary fractions.
    royaltyBps: Math.round((body.royalty_percentage ?? 0) * 100),
    royaltyRecipient: body.royalty_recipient ?? null,
    maxSupply: body.max_supply ?? null,
    transferable: body.transferable ?? true,
  }
}
