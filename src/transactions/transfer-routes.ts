/** HTTP routes that send and preview transfers, and the response to every request that became transactions. */

import type { Static } from '@sinclair/typebox'
import type { ApiPart, RouteContext } from '../api-context.ts'
import { callerFieldsOf } from '../core/caller-fields.ts'
import { TRANSFERS_BODY } from '../http/body-limits.ts'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { acceptedBatchSchema, transfersBody } from './batch-schemas.ts'
import { previewSchema } from './preview-schemas.ts'
import { previewTransfer } from './preview-transfer.ts'
import { answerAccepted, answerBatch } from './read-transactions.ts'
import { type BatchRequest, requestTransfer, requestTransfers, type TransferRequest } from './request-transfer.ts'
import { acceptedSchema, transferBody, walletParams } from './schemas.ts'
import type { SendContext } from './send-context.ts'
import { transactionRoutes } from './transaction-routes.ts'

const tags = ['Transactions']

const transfer = {
  tags,
  operationId: 'createTransfer',
  summary: 'Create a transfer',
  description:
    'Sends the native currency or a token. Once the response is sent, the transfer is recorded permanently and is sent at most ' +
    'once, even if processes or nodes fail. The response waits a moment for the hash. Poll the transaction for its result.',
  params: walletParams,
  body: transferBody,
  response: { 202: successOf(acceptedSchema, 'The transfer is accepted.') },
}

const batch = {
  tags,
  operationId: 'createTransfers',
  summary: 'Create several transfers',
  description:
    'Sends up to 100 transfers from one wallet. All are accepted, or none: an invalid item or a balance that is too low for all ' +
    'refuses the batch. Each item becomes a transaction of its own, signed in the order of the items: from then on one can fail ' +
    'while the others succeed. One Idempotency-Key covers the batch. The response waits a moment for the hashes.',
  params: walletParams,
  body: transfersBody,
  response: { 202: successOf(acceptedBatchSchema, 'All transfers are accepted.') },
}

const preview = {
  tags,
  operationId: 'previewTransfer',
  summary: 'Preview a transfer',
  description:
    'Returns what a transfer would cost and whether it would succeed. Nothing is sent or recorded. What does not fit into the limits of the API key ' +
    'is refused as the transfer would be: 403 `key_limit`.',
  params: walletParams,
  body: transferBody,
  response: { 200: successOf(previewSchema, 'The preview.') },
}

/** Of the routes that send. */
const SENDS = {
  scope: 'transactions:write',
  idempotent: true,
  refusals: {
    409: 'The wallet is archived.',
    503: 'No node has reported its fees recently, or gas costs more than the cap.',
  },
} as const

/** Routes of transactions, and the transfers that a policy can be simulated with. */
export function transactionApi(ctx: RouteContext): ApiPart {
  return {
    routes: [transferRoutes(ctx), transactionRoutes(ctx)],
    simulates: {
      transfer: {
        place: 10,
        body: transferBody,
        prepare:
          (walletId, body: Static<typeof transferBody>) =>
          (pretending, ...asked) =>
            requestTransfer({ ...ctx, ...pretending }, toTransfer(walletId, body), ...asked),
      },
      transfers: {
        place: 20,
        body: transfersBody,
        prepare:
          (walletId, body: Static<typeof transfersBody>) =>
          (pretending, ...asked) =>
            requestTransfers({ ...ctx, ...pretending }, toBatch(walletId, body), ...asked),
      },
    },
  }
}

function transferRoutes(ctx: SendContext): Routes {
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/transfer',
      {
        schema: transfer,
        config: {
          ...SENDS,
          quotas: ['transactions_waiting'],
          waits: 'up to 2 seconds for the hash',
        },
      },
      (request, reply) => {
        const { tenantId, environment } = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) =>
            requestTransfer(ctx, toTransfer(request.params.wallet_id, request.body), metadata, environment),
          answer: (accepted, waitMs, over) => answerAccepted(ctx, tenantId, accepted, waitMs, over),
        })
      },
    )

    app.post(
      '/v1/wallets/:wallet_id/transfers',
      {
        schema: batch,
        config: {
          ...SENDS,
          quotas: (body) => (body as Static<typeof transfersBody>).items.map(() => 'transactions_waiting' as const),
          body: TRANSFERS_BODY,
          waits: 'up to 2 seconds for the hashes',
        },
      },
      (request, reply) => {
        const { tenantId, environment } = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) =>
            requestTransfers(ctx, toBatch(request.params.wallet_id, request.body), metadata, environment),
          answer: (accepted, waitMs, over) => answerBatch(ctx, tenantId, accepted, waitMs, over),
        })
      },
    )

    app.post(
      '/v1/wallets/:wallet_id/transfer/preview',
      {
        schema: preview,
        config: { scope: 'transactions:read' },
      },
      async (request) => {
        const requester = { ...request.caller, actor: metadataOf(request).actor }
        return success(await previewTransfer(ctx, toTransfer(request.params.wallet_id, request.body), requester))
      },
    )
  }
}

function toTransfer(walletId: string, body: Static<typeof transferBody>): TransferRequest {
  return {
    walletId,
    to: body.to,
    amount: body.amount,
    asset: body.asset,
    gasPriority: body.gas_priority ?? 'medium',
    ...callerFieldsOf(body),
  }
}

function toBatch(walletId: string, body: Static<typeof transfersBody>): BatchRequest {
  return {
    walletId,
    items: body.items.map(({ to, amount, asset, gas_priority, ...own }) => ({
      to,
      amount,
      asset,
      gasPriority: gas_priority ?? null,
      ...callerFieldsOf(own),
    })),
    gasPriority: body.gas_priority ?? 'medium',
    validUntil: callerFieldsOf(body).validUntil,
  }
}
