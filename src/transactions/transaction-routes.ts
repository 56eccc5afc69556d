/** Reading transactions, and asking for their cancellation or for more speed: parse, call, reply. */
import { Type } from '@sinclair/typebox'
import { success, successOf } from '../http/envelope.ts'
import { markReplayed } from '../http/idempotency.ts'
import { decodeCursor, pageOf, pageQuery } from '../http/paging.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { closedObject, instantSchema } from '../http/schemas.ts'
import type { ChangeTransaction } from './change-transaction.ts'
import type { FindSender } from './prepare-transaction.ts'
import type { ReadTransactionAt } from './read-transaction-at.ts'
import type { TransactionReads } from './read-transactions.ts'
import {
  listQuery,
  speedUpBody,
  transactionPageSchema,
  transactionParams,
  transactionSchema,
  walletParams,
} from './schemas.ts'

export type TransactionRoutePorts = {
  readonly reads: TransactionReads
  readonly readTransactionAt: ReadTransactionAt
  readonly changeTransaction: ChangeTransaction
  readonly findSender: FindSender
}

const tags = ['Transactions']
const found = { 200: successOf(transactionSchema, 'The transaction.') }

const asked = { 202: successOf(transactionSchema, 'The lane acts on it.') }

const detail = {
  tags,
  summary: 'Read a transaction',
  description:
    'Its status, where it is on chain, and everything that happened to it. Reading is cheap: poll as you like. With `at`, as it was ' +
    'at that time, its confirmations as far as they had been recorded; before it was asked for there is none (404 ' +
    '`transaction_not_requested_yet`).',
  params: transactionParams,
  querystring: closedObject({ at: Type.Optional({ ...instantSchema, description: 'A time in the past.' }) }),
  response: found,
}

const list = {
  tags,
  summary: 'List transactions',
  description: 'The transactions of a wallet, newest first.',
  params: walletParams,
  querystring: closedObject({ ...pageQuery, ...listQuery }),
  response: { 200: successOf(transactionPageSchema, 'One page.') },
}

const cancel = {
  tags,
  summary: 'Cancel a transaction',
  description:
    'Asks for the cancellation. One that is not signed yet is cancelled at once; otherwise its nonce is taken by a transfer of ' +
    'nothing to the wallet itself, and it is said to be `cancelled` only once that is mined. Whichever is mined first wins.',
  params: transactionParams,
  response: asked,
}

const speedUp = {
  tags,
  summary: 'Speed up a transaction',
  description: 'Signs it again with the same nonce and higher fees (at least 12.5 % more), so that it is mined sooner.',
  params: transactionParams,
  body: speedUpBody,
  response: asked,
}

export function transactionRoutes(ports: TransactionRoutePorts): Routes {
  const { reads, readTransactionAt, changeTransaction, findSender } = ports
  return (app) => {
    app.get(
      '/v1/wallets/:wallet_id/transactions/:transaction_id',
      { schema: detail, config: { scope: 'transactions:read' } },
      async (request) => {
        const { wallet_id, transaction_id } = request.params
        const { at } = request.query
        return success(
          at === undefined
            ? await reads.read(request.caller, wallet_id, transaction_id)
            : await readTransactionAt(request.caller, wallet_id, transaction_id, at),
        )
      },
    )

    app.get(
      '/v1/wallets/:wallet_id/transactions',
      { schema: list, config: { scope: 'transactions:read' } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { limit, cursor, reference_id, ...filter } = request.query
        await findSender({ tenantId, environment }, request.params.wallet_id)
        const [before] = cursor === undefined ? [] : decodeCursor('transactions', 1, cursor)
        const found = await reads.list(tenantId, request.params.wallet_id, {
          ...filter,
          ...(reference_id === undefined ? {} : { referenceId: reference_id }),
          ...(before === undefined ? {} : { before }),
          limit: limit + 1,
        })
        return success(
          pageOf('transactions', { found, limit, keyOf: (view) => [view.transaction_id], present: (view) => view }),
        )
      },
    )

    const refusals = { 409: 'It is in a block already, or has ended.' }
    app.post(
      '/v1/wallets/:wallet_id/transactions/:transaction_id/cancel',
      {
        schema: cancel,
        config: { scope: 'transactions:write', idempotent: true, refusals },
      },
      async (request, reply) => {
        const { wallet_id: walletId, transaction_id: transactionId } = request.params
        const { environment } = request.caller
        const target = { environment, walletId, transactionId, metadata: metadataOf(request) }
        const { view, replayed } = await changeTransaction.cancel(target)
        if (replayed) markReplayed(reply)
        return reply.code(202).send(success(view))
      },
    )

    app.post(
      '/v1/wallets/:wallet_id/transactions/:transaction_id/speed-up',
      {
        schema: speedUp,
        config: { scope: 'transactions:write', idempotent: true, refusals },
      },
      async (request, reply) => {
        const { wallet_id: walletId, transaction_id: transactionId } = request.params
        const { environment } = request.caller
        const target = { environment, walletId, transactionId, metadata: metadataOf(request) }
        const { view, replayed } = await changeTransaction.speedUp(target, request.body.gas_priority ?? 'high')
        if (replayed) markReplayed(reply)
        return reply.code(202).send(success(view))
      },
    )
  }
}
