/** HTTP routes that sign messages and typed data, and read signatures. */

import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { ApiContext, ApiPart } from '../api-context.ts'
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { waitUntilRow } from '../event-log/wait-until.ts'
import { SIGNED_BODY } from '../http/body-limits.ts'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import type { Prepare } from '../policies/simulate.ts'
import { requestSignature, type SignatureContext, type SignatureRequest, type Wanted } from './request-signature.ts'
import { messageBody, signatureParams, signatureSchema, typedDataBody, walletParams } from './schemas.ts'
import { COLUMNS, type SignatureRow, type SignatureView, toView } from './view.ts'

/** Default time that a request waits, ms: also mpc parties that are busy have signed by then. */
const DEFAULT_SIGNATURE_WAIT_MS = 10_000

type RouteContext = SignatureContext & Pick<Context, 'pool' | 'wakeUps'>

const tags = ['Signing']
const asked = {
  201: successOf(signatureSchema, 'The signature.'),
  202: successOf(signatureSchema, 'The request is accepted. Poll the signature for the result.'),
}

const message = {
  tags,
  operationId: 'signMessage',
  summary: 'Sign a message',
  description:
    'Signs a message with the key of an hd or mpc wallet, as `personal_sign` does (EIP-191 version 0x45). The message is signed ' +
    'with a prefix, so that the signature cannot be used for a transaction.',
  params: walletParams,
  body: messageBody,
  response: asked,
}

const typedData = {
  tags,
  operationId: 'signTypedData',
  summary: 'Sign typed data',
  description:
    'Signs typed structured data (EIP-712) with the key of an hd or mpc wallet. The body has the format of `eth_signTypedData_v4`. ' +
    'All of it is validated first. A `domain.chainId` other than the chain of the wallet is refused. A signature can let others ' +
    'spend what the wallet holds (permits, orders, signed transfers, calls in its name). Your policy says ' +
    'which of that is signed. While no policy is active, or the active one allows by default and names none of it, types of these known forms are refused with `typed_data_spends`, except in the sandbox. Data for the contract of a collection is always refused, with `managed_contract`: the NFT routes sign vouchers. Sign ' +
    'only what you understand.',
  params: walletParams,
  body: typedDataBody,
  response: asked,
}

const detail = {
  tags,
  operationId: 'getSignature',
  summary: 'Get a signature',
  description: 'Returns a signature request with its status and, once it is signed, the signature.',
  params: signatureParams,
  response: { 200: successOf(signatureSchema, 'The signature.') },
}

const config = {
  scope: 'signatures:write',
  idempotent: true,
  quotas: ['ceremonies'],
  body: SIGNED_BODY,
  waits: 'up to 10 seconds for the signature',
  refusals: {
    409: 'The wallet is archived or has no address yet, or the typed data is for the contract of a collection.',
  },
} as const

/** Routes of signatures, and those that a policy can be simulated with. */
export function signatureApi(ctx: ApiContext): ApiPart {
  const prepare =
    (walletId: string, wanted: Wanted): Prepare =>
    (pretending, metadata, environment) => {
      const config = { ...ctx.config, spendingTypedData: 'allow' } as const
      return requestSignature({ ...ctx, ...pretending, config }, { environment, walletId, wanted }, metadata)
    }
  return {
    routes: [signatureRoutes(ctx)],
    simulates: {
      sign_message: {
        place: 50,
        body: messageBody,
        prepare: (walletId, body: Static<typeof messageBody>) => prepare(walletId, toMessage(body)),
      },
      sign_typed_data: {
        place: 60,
        body: typedDataBody,
        prepare: (walletId, body: Static<typeof typedDataBody>) => prepare(walletId, toTypedData(body)),
      },
    },
  }
}

function signatureRoutes(ctx: RouteContext & Pick<Context, 'logger'>): Routes {
  if (ctx.config.spendingTypedData !== null)
    ctx.logger.warn(
      { setting: 'SIGN_SPENDING_TYPED_DATA' },
      'this setting goes away: a policy says what typed data is signed, and without one what lets others spend is refused',
    )
  /** By signature: resolves once a signer has made it, or with `null` after the timeout. */
  const waitForSignature = waitUntilRow<Pick<Row<'signatures'>, 'signature_id'>>(ctx, {
    name: 'made_signatures',
    text: 'SELECT signature_id FROM signatures WHERE signature_id = ANY($1) AND signature IS NOT NULL',
    id: 'signature_id',
  })
  const sign = (
    request: FastifyRequest,
    reply: FastifyReply,
    { walletId, wanted }: Pick<SignatureRequest, 'walletId' | 'wanted'>,
  ) => {
    const { tenantId, environment } = request.caller
    return replyAccepted(request, reply, {
      accept: (metadata) => requestSignature(ctx, { environment, walletId, wanted }, metadata),
      async answer({ id }, waitMs, over) {
        const limitMs = waitMs ?? DEFAULT_SIGNATURE_WAIT_MS
        if (limitMs > 0) await waitForSignature(id, limitMs, over)
        const view = await readSignature(ctx.pool, tenantId, walletId, id)
        return { code: view.status === 'signed' ? 201 : 202, view }
      },
    })
  }
  return (app) => {
    app.post('/v1/wallets/:wallet_id/sign/message', { schema: message, config }, (request, reply) =>
      sign(request, reply, { walletId: request.params.wallet_id, wanted: toMessage(request.body) }),
    )

    app.post('/v1/wallets/:wallet_id/sign/typed-data', { schema: typedData, config }, (request, reply) =>
      sign(request, reply, { walletId: request.params.wallet_id, wanted: toTypedData(request.body) }),
    )

    app.get(
      '/v1/wallets/:wallet_id/signatures/:signature_id',
      { schema: detail, config: { scope: 'signatures:read' } },
      async (request) => {
        const { tenantId, environment } = request.caller
        const { wallet_id, signature_id } = request.params
        await ctx.findWallet({ tenantId, environment }, wallet_id)
        return success(await readSignature(ctx.pool, tenantId, wallet_id, signature_id))
      },
    )
  }
}

function toMessage({ message: text, encoding = 'utf8' }: Static<typeof messageBody>): Wanted {
  return { type: 'message', text, encoding }
}

function toTypedData({ domain, types, message, ...named }: Static<typeof typedDataBody>): Wanted {
  return { type: 'typed_data', sent: { domain, types, message, primaryTypes: named } }
}

/** @throws NotFound `signature_not_found` when the tenant's wallet has no such signature */
async function readSignature(
  pool: Pool,
  tenantId: string,
  walletId: string,
  signatureId: string,
): Promise<SignatureView> {
  const { rows } = await pool.query<SignatureRow>({
    name: 'read_signature',
    text: `SELECT ${COLUMNS.join(', ')} FROM signatures WHERE signature_id = $1`,
    values: [signatureId],
  })
  const [row] = rows
  if (row === undefined || row.tenant_id !== tenantId || row.wallet_id !== walletId) throw new NotFound('signature')
  return toView(row)
}
