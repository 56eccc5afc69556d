/** HTTP routes that update and freeze the metadata of a token. */
import type { Static } from '@sinclair/typebox'
import { ValidationFailed } from '../../core/errors.ts'
import { METADATA_BODY } from '../../http/body-limits.ts'
import { successOf } from '../../http/envelope.ts'
import { replyAccepted } from '../../http/reply-accepted.ts'
import type { Routes } from '../../http/request.ts'
import { MINED_WAIT_MS } from '../collections/routes.ts'
import type { NftContext } from '../nft-context.ts'
import { tokenDetailSchema, tokenParams } from './mint-schemas.ts'
import { readToken } from './read-mints.ts'
import type { PublishedMetadata } from './token-events.ts'
import { updateBody } from './update-schemas.ts'
import { updateToken } from './update-token.ts'

const update = {
  tags: ['NFT'],
  operationId: 'updateNftMetadata',
  summary: 'Update or freeze metadata',
  description:
    'Replaces the metadata of a token of a DYNAMIC collection, or freezes it permanently. `metadata_uri` changes when the ' +
    'transaction is in a block; until then `pending_metadata_uri` has the new value.',
  params: tokenParams,
  body: updateBody,
  response: {
    200: successOf(tokenDetailSchema, 'The update is in a block.'),
    202: successOf(tokenDetailSchema, 'The update is accepted. Its transaction is not in a block yet.'),
  },
}

export function tokenRoutes(ctx: NftContext): Routes {
  return (app) => {
    app.patch(
      '/v1/nft/collections/:collection_id/tokens/:token_id/metadata',
      {
        schema: update,
        config: {
          scope: 'nft:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          body: METADATA_BODY,
          waits: 'up to 15 seconds for the update to be in a block',
          refusals: {
            409: 'The collection is not DYNAMIC, the token is not minted or is frozen, or the wallet is archived.',
            503: 'No node has reported its fees recently, gas costs more than the cap, or IPFS did not accept the metadata.',
          },
        },
      },
      (request, reply) => {
        const { collection_id: collectionId, token_id: tokenId } = request.params
        const { tenantId, environment } = request.caller
        const wanted = { environment, collectionId, tokenId, metadata: readBody(request.body) }
        return replyAccepted(request, reply, {
          accept: (metadata) => updateToken(ctx, wanted, metadata),
          async answer({ id: transactionId }, waitMs, over) {
            const limitMs = waitMs ?? MINED_WAIT_MS
            if (limitMs > 0) await ctx.transactions.untilMined(transactionId, limitMs, over)
            const view = await readToken(
              ctx.pool,
              await ctx.collections.read({ tenantId, environment }, collectionId),
              tokenId,
            )
            return { code: view.last_update?.status === 'PENDING' ? 202 : 200, view }
          },
        })
      },
    )
  }
}

/** The new metadata, or `null` to freeze. */
function readBody({ metadata, freeze }: Static<typeof updateBody>): PublishedMetadata | null {
  if (freeze === undefined) {
    if (metadata !== undefined) return metadata
    throw ValidationFailed.field('metadata', 'required', 'metadata is required, unless freeze is true.')
  }
  if (metadata === undefined) return null
  const rule = 'freeze cannot be combined with metadata: send the new metadata first, then freeze it.'
  throw ValidationFailed.field('freeze', 'not_allowed', rule)
}
