/** HTTP routes that send and preview transfers. */

import type { Static } from '@sinclair/typebox'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { type AnswerPorts, answerAccepted } from './answer-accepted.ts'
import type { PreviewTransfer } from './preview-transfer.ts'
import type { RequestTransfer, TransferRequest } from './request-transfer.ts'
import { acceptedSchema, previewSchema, transferBody, walletParams } from './schemas.ts'

export type TransferRoutePorts = AnswerPorts & {
  readonly requestTransfer: RequestTransfer
  readonly previewTransfer: PreviewTransfer
}

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

const preview = {
  tags,
  operationId: 'previewTransfer',
  summary: 'Preview a transfer',
  description: 'Returns what a transfer would cost and whether it would succeed. Nothing is sent or recorded.',
  params: walletParams,
  body: transferBody,
  response: { 200: successOf(previewSchema, 'The preview.') },
}

export function transferRoutes(ports: TransferRoutePorts): Routes {
  const { requestTransfer, previewTransfer, reads } = ports
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/transfer',
      {
        schema: transfer,
        config: {
          scope: 'transactions:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          waits: 'up to 2 seconds for the hash',
          refusals: {
            409: 'The wallet is archived.',
            503: 'No node has reported its fees recently, or gas costs more than the cap.',
          },
        },
      },
      (request, reply) => {
        const { tenantId, environment } = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) =>
            requestTransfer(toTransfer(request.params.wallet_id, request.body), metadata, environment),
          async answer({ id, made }, waitMs) {
            const view = made ?? (await reads.readById(tenantId, id))
            return answerAccepted(ports, tenantId, view, waitMs)
          },
        })
      },
    )

    app.post(
      '/v1/wallets/:wallet_id/transfer/preview',
      {
        schema: preview,
        config: { scope: 'transactions:read' },
      },
      async (request) =>
        success(await previewTransfer(toTransfer(request.params.wallet_id, request.body), request.caller)),
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
    referenceId: body.reference_id ?? null,
    memo: body.memo ?? null,
    validUntil: body.valid_until === undefined ? null : new Date(body.valid_until).toISOString(),
  }
}
