/** The HTTP route that calls contracts. */

import type { Static } from '@sinclair/typebox'
import type { ApiPart, RouteContext } from '../api-context.ts'
import { callerFieldsOf } from '../core/caller-fields.ts'
import { PermissionDenied } from '../core/errors.ts'
import { allows } from '../core/scopes.ts'
import { CALL_BODY } from '../http/body-limits.ts'
import { acceptedOrRepeated, counted } from '../http/counted.ts'
import { success, successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { answerAccepted } from '../transactions/read-transactions.ts'
import { acceptedSchema, walletParams } from '../transactions/schemas.ts'
import type { CallContext } from './call-context.ts'
import { type CallRequest, requestCall } from './request-call.ts'
import { contractCallBody, triedCallSchema } from './schemas.ts'
import { tryCall } from './try-call.ts'

const SEND_SCOPE = 'transactions:write'

const schema = {
  tags: ['Transactions'],
  operationId: 'callContract',
  summary: 'Call a contract',
  description:
    'Calls a function of any contract: sends it as a transaction, simulates it, or reads what it returns. The function is given by `abi` ' +
    'and `function`, by `function_signature`, or by encoded `data`. `send` requires the scope `transactions:write`; an Idempotency-Key ' +
    'applies to it alone. A sent call has the guarantees of a transfer: it is sent at most once. Its effects are those of the contract: ' +
    'call only contracts that you trust.',
  params: walletParams,
  body: contractCallBody,
  response: {
    200: successOf(triedCallSchema, 'The result of `simulate` and `read`.'),
    202: successOf(acceptedSchema, 'The transaction is accepted.'),
  },
}

export function contractCallApi(ctx: RouteContext): ApiPart {
  return {
    routes: [contractCallRoutes(ctx)],
    simulates: {
      contract_call: {
        place: 30,
        body: contractCallBody,
        prepare:
          (walletId, body: Static<typeof contractCallBody>) =>
          (pretending, ...asked) =>
            requestCall({ ...ctx, ...pretending }, toCall(walletId, body), ...asked),
      },
    },
  }
}

function contractCallRoutes(ctx: CallContext): Routes {
  const count = (outcome: string) => ctx.metrics.count('bursar_call_requests_total', { kind: 'contract_call', outcome })
  const send = counted(requestCall, count, acceptedOrRepeated)
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/contract-call',
      {
        schema,
        config: {
          scope: 'transactions:read',
          idempotent: true,
          rate: 'calls_per_second',
          quotas: (body) =>
            (body as Body).mode === undefined || (body as Body).mode === 'send' ? ['transactions_waiting'] : [],
          body: CALL_BODY,
          waits: 'up to 2 seconds for the hash',
          refusals: {
            409: 'The wallet is archived, or the service manages the contract.',
            503: 'No node is available, or gas costs more than the cap.',
          },
        },
      },
      async (request, reply) => {
        const { tenantId, environment, scopes } = request.caller
        const call = toCall(request.params.wallet_id, request.body)
        const { mode = 'send' } = request.body
        if (mode !== 'send')
          return success(await tryCall(ctx, call, mode, { tenantId, environment, actor: metadataOf(request).actor }))
        if (!allows(scopes, SEND_SCOPE))
          throw new PermissionDenied('insufficient_scope', `mode send requires the scope ${SEND_SCOPE}.`)
        return replyAccepted(request, reply, {
          accept: (metadata) => send(ctx, call, metadata, environment),
          answer: (accepted, waitMs, over) => answerAccepted(ctx, tenantId, accepted, waitMs, over),
        })
      },
    )
  }
}

type Body = Static<typeof contractCallBody>

function toCall(walletId: string, body: Body): CallRequest {
  return {
    walletId,
    contractAddress: body.contract_address,
    abi: body.abi,
    function: body.function,
    functionSignature: body.function_signature,
    data: body.data,
    args: body.args,
    value: body.value,
    gasLimit: body.gas_limit === undefined ? null : BigInt(body.gas_limit),
    gasPriority: body.gas_priority ?? 'medium',
    ...callerFieldsOf(body),
  }
}
