/** Routes with the structure of real ones, small enough to show the behaviour of the HTTP layer. */
import { Type } from '@sinclair/typebox'
import { success, successOf } from '../../src/http/envelope.ts'
import { markReplayed } from '../../src/http/idempotency.ts'
import { decodeCursor, pageOf, pageQuery, pageSchema } from '../../src/http/paging.ts'
import { applyPreference, preferenceOf } from '../../src/http/prefer.ts'
import type { Routes } from '../../src/http/request.ts'
import { metadataOf } from '../../src/http/request-metadata.ts'
import {
  addressSchema,
  amountSchema,
  closedObject,
  idSchema,
  instant,
  labelSchema,
  networkSchema,
  nullable,
  oneOf,
} from '../../src/http/schemas.ts'

export const WALLET = 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
export const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const TRANSFER_PATH = `/v1/wallets/${WALLET}/transfer`
/** The smallest valid transfer. */
export const TRANSFER = { to: ADDRESS, amount: '1.5', network: 'ethereum' }

const tags = ['Transfers']

const transferBody = closedObject({
  to: addressSchema,
  amount: amountSchema,
  network: networkSchema,
  gas_priority: Type.Optional(oneOf(['low', 'medium', 'high'], { default: 'medium' })),
  label: Type.Optional(labelSchema),
  royalty: Type.Optional(Type.Number({ minimum: 0, maximum: 50, multipleOf: 0.01 })),
  valid_until: Type.Optional(instant('Until when it may be signed.')),
  metadata: Type.Optional(closedObject({ image: Type.String({ format: 'uri' }), name: Type.String({ minLength: 1 }) })),
  items: Type.Optional(Type.Array(closedObject({ to: addressSchema }), { minItems: 1, maxItems: 100 })),
  abi: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 1_000 })),
})

const transferReply = Type.Object({
  received: transferBody,
  hash: nullable(Type.String({ examples: [null] })),
  metadata: Type.Unknown(),
})

const listQuery = closedObject({
  ...pageQuery,
  force: Type.Optional(Type.Boolean()),
  status: Type.Optional(oneOf(['pending', 'confirmed'])),
})

const nudgeBody = closedObject({ gas_priority: Type.Optional(oneOf(['low', 'medium'], { default: 'low' })) })

const noData = successOf(Type.Object({}), 'Done.')

const params = Type.Object({ wallet_id: idSchema('wal', 'The wallet.') })

const nudge = {
  operationId: 'nudgeWallet',
  summary: 'Nudge',
  description: 'All optional.',
  tags,
  params,
  body: nudgeBody,
  response: { 200: successOf(nudgeBody, 'Ok.') },
}

/** `POST …/transfer` returns what it received and the metadata that the log would record. */
export const transferRoutes: Routes = (app) => {
  app.post(
    '/v1/wallets/:wallet_id/transfer',
    {
      config: { scope: 'transactions:write', idempotent: true, quotas: [], waits: 'up to 2 seconds for the hash' },
      schema: {
        operationId: 'createTransfer',
        summary: 'Create a transfer',
        description: 'Sends currency.',
        tags,
        params,
        body: transferBody,
        response: { 202: successOf(transferReply, 'Accepted.') },
      },
    },
    async (request, reply) => {
      applyPreference(reply, preferenceOf(request))
      if (request.headers['idempotency-key'] === 'seen-before') markReplayed(reply)
      return reply.code(202).send(success({ received: request.body, hash: null, metadata: metadataOf(request) }))
    },
  )

  app.get(
    '/v1/wallets',
    {
      config: { scope: 'wallets:read' },
      schema: {
        operationId: 'listWallets',
        summary: 'List wallets',
        description: 'Newest first.',
        tags,
        querystring: listQuery,
        response: { 200: successOf(pageSchema('wallets', Type.Object({ wallet_id: Type.String() })), 'A page.') },
      },
    },
    async ({ query }) => {
      if (query.cursor !== undefined) decodeCursor('wallets', 1, query.cursor)
      const found = Array.from({ length: query.limit + 1 }, (_, index) => ({ wallet_id: `wal_${index}` }))
      const keyOf = (row: { wallet_id: string }) => [row.wallet_id]
      return success(pageOf('wallets', { found, limit: query.limit, keyOf, present: (row) => row }))
    },
  )

  app.post(
    '/v1/wallets/:wallet_id/restore',
    {
      config: { scope: 'wallets:write' },
      schema: {
        operationId: 'restoreWallet',
        summary: 'Restore',
        description: 'Takes no body.',
        tags,
        params,
        response: { 200: noData },
      },
    },
    async () => success({}),
  )

  app.post(
    '/v1/wallets/:wallet_id/nudge',
    {
      config: { scope: 'wallets:write' },
      schema: nudge,
    },
    async ({ body }) => success(body),
  )

  app.get(
    '/v1/wallets/:wallet_id/notes',
    {
      config: { scope: 'wallets:read' },
      schema: {
        operationId: 'listNotes',
        summary: 'Read notes',
        description: 'Who asks.',
        tags,
        params,
        response: { 200: successOf(Type.Unknown(), 'Ok.') },
      },
    },
    async (request) => success({ tenant: request.caller.tenantId }),
  )
}
