/** HTTP routes that read, update, archive and restore wallets. */

import { Type } from '@sinclair/typebox'
import type { ApiPart, RouteContext } from '../api-context.ts'
import { parseAddress } from '../chain/address.ts'
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { closedObject, oneOf } from '../http/schemas.ts'
import { walletAggregate } from './aggregate.ts'
import { type ArchiveWalletContext, archiveWallet } from './archive-wallet.ts'
import { askedTags } from './asked-tags.ts'
import { batchRoutes } from './batch-routes.ts'
import type { Revision } from './decider.ts'
import type { FindWallet } from './find-wallet.ts'
import { openingRoutes } from './opening-routes.ts'
import { listWallets, readWallet } from './read-wallets.ts'
import { restoreWallet } from './restore-wallet.ts'
import { listQuery, notificationsOf, reviseBody, walletPageSchema, walletParams, walletSchema } from './schemas.ts'
import type { WalletView } from './view.ts'

/** What reading and changing wallets needs of the API process. */
export type WalletContext = ArchiveWalletContext &
  Parameters<typeof restoreWallet>[0] &
  Parameters<typeof listWallets>[0] & { readonly findWallet: FindWallet }

const tags = ['Wallets']
const answer = { 200: successOf(walletSchema, 'The wallet.') }

const list = {
  tags,
  operationId: 'listWallets',
  summary: 'List wallets',
  description: 'Lists your wallets, newest first. Archived wallets are listed only with `status=archived`.',
  querystring: closedObject({ ...pageQuery, ...listQuery }),
  response: { 200: successOf(walletPageSchema, 'A page of wallets.') },
}

const detail = {
  tags,
  operationId: 'getWallet',
  summary: 'Get a wallet',
  description: 'Returns one wallet. An archived wallet is returned only with `include=archived`.',
  params: walletParams,
  querystring: closedObject({
    include: Type.Optional(oneOf(['archived'], { description: 'Return the wallet even if it is archived.' })),
  }),
  response: answer,
}

const revise = {
  tags,
  operationId: 'updateWallet',
  summary: 'Update a wallet',
  description:
    'Updates the label, the tags, or the notification settings of a watch wallet. Omitted fields keep their values.',
  params: walletParams,
  body: reviseBody,
  response: answer,
}

const archive = {
  tags,
  operationId: 'deleteWallet',
  summary: 'Delete a wallet',
  description:
    'Archives the wallet: it is no longer listed and cannot send. Its key is never destroyed, its transactions can still be read, ' +
    'and deposits to it are still recorded. Restoring the wallet undoes it. A watch wallet is archived whatever its balance.',
  params: walletParams,
  querystring: closedObject({
    force: Type.Boolean({ default: false, description: 'Archive the wallet even if it has a balance.' }),
  }),
  response: answer,
}

const restore = {
  tags,
  operationId: 'restoreWallet',
  summary: 'Restore a wallet',
  description: 'Makes an archived wallet active again, with its previous settings.',
  params: walletParams,
  response: answer,
}

/** Those that open wallets first. */
export function walletApi(ctx: RouteContext): ApiPart {
  return { routes: [openingRoutes(ctx), batchRoutes(ctx), walletRoutes(ctx)] }
}

function walletRoutes(ctx: WalletContext): Routes {
  const { findWallet } = ctx
  return (app) => {
    const readAccess = { scope: 'wallets:read' } as const
    app.get('/v1/wallets', { schema: list, config: readAccess }, async (request) => {
      const { limit, cursor, external_id: externalId, address, ...filter } = request.query
      const [before] = cursor === undefined ? [] : decodeCursor('wallets', 1, cursor)
      const found = await listWallets(ctx, request.caller, {
        ...filter,
        externalId,
        address: address === undefined ? undefined : parseAddress(address, 'address'),
        before,
        limit: limit + 1,
      })
      const keyOf = (view: WalletView) => [view.wallet_id]
      return success(pageOf('wallets', { found, limit, keyOf, present: (view) => view }))
    })

    app.get('/v1/wallets/:wallet_id', { schema: detail, config: readAccess }, async (request) => {
      const { walletId } = await findWallet(request.caller, request.params.wallet_id)
      const view = await readWallet(ctx, request.caller, walletId)
      if (view.status === 'archived' && request.query.include !== 'archived') {
        throw new NotFound(
          'wallet',
          'wallet_archived',
          'The wallet is archived: read it with include=archived, or restore it.',
        )
      }
      return success(view)
    })

    const archivedRefusals = {
      403: 'The API key may not tag wallets: `insufficient_scope`.',
      409: 'The wallet is archived.',
    }
    app.patch(
      '/v1/wallets/:wallet_id',
      { schema: revise, config: { scope: 'wallets:write', refusals: archivedRefusals } },
      async (request) => {
        const { walletId } = await findWallet(request.caller, request.params.wallet_id)
        const { label, tags, notifications } = request.body
        const revision = {
          label,
          ...askedTags(request.caller.scopes, tags),
          notifications: notifications && notificationsOf(notifications),
        }
        await reviseWallet(ctx, walletId, revision, { metadata: metadataOf(request) })
        return success(await readWallet(ctx, request.caller, walletId))
      },
    )

    const archiveRefusals = { 409: 'The wallet has pending transactions or a balance.' }
    app.delete(
      '/v1/wallets/:wallet_id',
      { schema: archive, config: { scope: 'wallets:write', refusals: archiveRefusals } },
      async (request) => {
        const wallet = await findWallet(request.caller, request.params.wallet_id)
        await archiveWallet(ctx, wallet, { force: request.query.force, metadata: metadataOf(request) })
        return success(await readWallet(ctx, request.caller, wallet.walletId))
      },
    )

    const restoreRefusals = { 409: 'Another active wallet has its address.' }
    app.post(
      '/v1/wallets/:wallet_id/restore',
      {
        schema: restore,
        config: { scope: 'wallets:write', idempotent: true, quotas: [], refusals: restoreRefusals },
      },
      async (request, reply) => {
        const wallet = await findWallet(request.caller, request.params.wallet_id)
        return replyAccepted(request, reply, {
          accept: (metadata) => restoreWallet(ctx, wallet, { metadata }),
          answer: async () => ({ code: 200, view: await readWallet(ctx, request.caller, wallet.walletId) }),
        })
      },
    )
  }
}

/**
 * Changes what an owner may change of a wallet: its label, its tags, and the notifications of a watched one. Omitted fields do
 * not change; all changes are made, or none.
 *
 * @throws Conflict `wallet_archived`; ValidationFailed `watch_wallets_only`
 */
export async function reviseWallet(
  { log }: Pick<Context, 'log'>,
  walletId: string,
  revision: Revision,
  { metadata }: { readonly metadata: Metadata },
): Promise<void> {
  await log.execute(walletAggregate, walletId, { type: 'Revise', revision, now: log.now() }, { metadata })
}
