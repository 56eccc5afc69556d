/** HTTP routes that read, cancel and speed up transactions. */
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Metadata } from '../core/messages.ts'
import { success, successOf } from '../http/envelope.ts'
import { decodeCursor, pageOf, pageQuery, pageThatEnds } from '../http/paging.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { closedObject, instant } from '../http/schemas.ts'
import { cancelTransaction, speedUpTransaction, type Target } from './change-transaction.ts'
import { listTransactionsAt, readTransactionAt } from './read-transactions-at.ts'
import {
  changedSchema,
  listQuery,
  speedUpBody,
  transactionPageSchema,
  transactionParams,
  transactionSchema,
  walletParams,
} from './schemas.ts'
import type { SendContext } from './send-context.ts'

const tags = ['Transactions']
const atQuery = { at: Type.Optional(instant('A time in the past. Returns the state that was known then.')) }

const detail = {
  tags,
  operationId: 'getTransaction',
  summary: 'Get a transaction',
  description:
    'Returns the status of a transaction, its place on chain and its history. Reading is cheap, so you can poll it. With `at`, ' +
    'returns the transaction as it was at that time, with the confirmations that were recorded by then. For a time before it was ' +
    'requested the response is 404 `transaction_not_requested_yet`.',
  params: transactionParams,
  querystring: closedObject(atQuery),
}

const list = {
  tags,
  operationId: 'listTransactions',
  summary: 'List transactions',
  description:
    'Lists the transactions of a wallet, newest first. With `at`, lists those that had been requested by that time, as they were ' +
    'then. If `at` is combined with `status` or `state`, a page may have fewer items than `limit`: continue while `has_more` is true.',
  params: walletParams,
}

const cancel = {
  tags,
  operationId: 'cancelTransaction',
  summary: 'Cancel a transaction',
  description:
    'Requests the cancellation of a transaction. A transaction that is not signed yet is cancelled immediately. Otherwise its nonce ' +
    'is used for a transfer of zero to the wallet itself. Its state is `cancelling` when that is in a block, and the status becomes ' +
    '`cancelled` only when that block has the required confirmations. The one of the two that stays in the chain wins. ' +
    'If the cancellation cannot be signed now, `warnings` says why and what to do.',
  params: transactionParams,
}

const speedUp = {
  tags,
  operationId: 'speedUpTransaction',
  summary: 'Speed up a transaction',
  description:
    'Signs the transaction again with the same nonce and higher fees (at least 12.5 % more), so that it is mined sooner. If it cannot ' +
    'be signed now, `warnings` says why and what to do.',
  params: transactionParams,
  body: speedUpBody,
}

export function transactionRoutes(ctx: SendContext): Routes {
  const found = { response: { 200: successOf(transactionSchema(), 'The transaction.') } }
  const page = {
    querystring: closedObject({ ...pageQuery, ...listQuery(), ...atQuery }),
    response: { 200: successOf(transactionPageSchema(), 'A page of transactions.') },
  }
  const asked = {
    response: { 202: successOf(changedSchema(), 'The request is accepted. Poll the transaction for the result.') },
  }
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/transactions/:transaction_id',
      { schema: { ...detail, ...found }, config: { scope: 'transactions:read' } },
      async (request) => {
        const { wallet_id, transaction_id } = request.params
        const { at } = request.query
        return success(
          at === undefined
            ? await ctx.transactions.read(request.caller, wallet_id, transaction_id)
            : await readTransactionAt(ctx, request.caller, wallet_id, transaction_id, at),
        )
      },
    )

    app.get(
      '/v1/wallets/:wallet_id/transactions',
      { schema: { ...list, ...page }, config: { scope: 'transactions:read' } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { wallet_id: walletId } = request.params
        const { limit, cursor, at, reference_id, ...named } = request.query
        await ctx.findSender({ tenantId, environment }, walletId)
        const [before] = cursor === undefined ? [] : decodeCursor('transactions', 1, cursor)
        const filter = {
          ...named,
          ...(reference_id === undefined ? {} : { referenceId: reference_id }),
          ...(before === undefined ? {} : { before }),
        }
        if (at !== undefined) {
          const { views, goesOnAfter } = await listTransactionsAt(ctx, tenantId, walletId, { ...filter, limit }, at)
          return success(pageThatEnds('transactions', views, goesOnAfter === null ? null : [goesOnAfter]))
        }
        const found = await ctx.transactions.list(tenantId, walletId, { ...filter, limit: limit + 1 })
        return success(
          pageOf('transactions', { found, limit, keyOf: (view) => [view.transaction_id], present: (view) => view }),
        )
      },
    )

    const refusals = { 409: 'The transaction is already in a block or has ended.' }
    app.post(
      '/v1/wallets/:wallet_id/transactions/:transaction_id/cancel',
      {
        schema: { ...cancel, ...asked },
        config: { scope: 'transactions:write', idempotent: true, quotas: [], refusals },
      },
      (request, reply) =>
        replyAccepted(request, reply, {
          accept: (metadata) => cancelTransaction(ctx, targetOf(request, request.params, metadata)),
          answer: async ({ view, warnings }) => ({ code: 202, view: { ...view, warnings: [...warnings] } }),
        }),
    )

    app.post(
      '/v1/wallets/:wallet_id/transactions/:transaction_id/speed-up',
      {
        schema: { ...speedUp, ...asked },
        config: { scope: 'transactions:write', idempotent: true, quotas: [], refusals },
      },
      (request, reply) =>
        replyAccepted(request, reply, {
          accept: (metadata) =>
            speedUpTransaction(ctx, targetOf(request, request.params, metadata), request.body.gas_priority ?? 'high'),
          answer: async ({ view, warnings }) => ({ code: 202, view: { ...view, warnings: [...warnings] } }),
        }),
    )
  }
}

function targetOf(
  { caller }: FastifyRequest,
  { wallet_id: walletId, transaction_id: transactionId }: Static<typeof transactionParams>,
  metadata: Metadata,
): Target {
  return { environment: caller.environment, walletId, transactionId, metadata }
}
