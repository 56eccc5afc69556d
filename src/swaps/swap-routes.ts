/** The HTTP route that makes a swap. */

import type { Static } from '@sinclair/typebox'
import type { ApiPart, RouteContext } from '../api-context.ts'
import type { Context } from '../context.ts'
import { callerFieldsOf } from '../core/caller-fields.ts'
import { type ErrorItem, ValidationFailed } from '../core/errors.ts'
import { acceptedOrRepeated, counted } from '../http/counted.ts'
import { successOf } from '../http/envelope.ts'
import { replyAccepted } from '../http/reply-accepted.ts'
import type { Routes } from '../http/request.ts'
import { answerAccepted } from '../transactions/read-transactions.ts'
import { acceptedSchema } from '../transactions/schemas.ts'
import { createQuoting } from './create-quoting.ts'
import type { SwapQuote } from './quote.ts'
import { keepQuote } from './quote-rows.ts'
import { requestSwap, type SwapContext, type SwapOrder } from './request-swap.ts'
import { placeOf } from './route.ts'
import { swapRoutes, toSwap } from './routes.ts'
import { quoteBody, swapBody, walletParams } from './schemas.ts'
import { transactionOfSwap } from './swap-rows.ts'

const swap = {
  tags: ['Swaps'],
  operationId: 'createSwap',
  summary: 'Create a swap',
  description:
    'Swaps by a quote, or quotes and swaps at once. The minimum that the quote promises is part of what is sent: the swap gives at least ' +
    'that, or fails. If a token must be approved first, the approval of the exact amount is a transaction before it. Of a wallet, one swap ' +
    'of a token is open at a time. The response has the transaction of the swap: poll it for its result.',
  params: walletParams,
  body: swapBody,
  response: { 202: successOf(acceptedSchema, 'The swap is accepted.') },
}

export function swapApi(context: RouteContext): ApiPart {
  const { pool, metrics } = context
  const { quote, problem } = createQuoting(context)
  const counting = counted(
    quote,
    (outcome) => metrics.count('bursar_swap_quotes_total', { outcome }),
    ({ network, route }) => {
      metrics.count('bursar_swap_routes_total', { network, venue: placeOf(route) })
      return 'quoted'
    },
  )
  const ctx = { ...context, quoteSwap: counting, keepQuote: (made: SwapQuote) => keepQuote(pool, made) }
  return {
    routes: [swapRoutes(ctx), requestSwapRoutes(ctx)],
    // Everything else works without exchanges.
    readiness: { name: 'swaps', check: async () => undefined, warning: problem },
    simulates: {
      swap: {
        place: 40,
        body: swapBody,
        prepare:
          (walletId, body: Static<typeof swapBody>) =>
          (pretending, ...asked) =>
            requestSwap({ ...ctx, ...pretending, keepQuote: async () => undefined }, toOrder(walletId, body), ...asked),
      },
    },
  }
}

function requestSwapRoutes(ctx: SwapContext & Pick<Context, 'metrics'>): Routes {
  const count = (outcome: string) => ctx.metrics.count('bursar_call_requests_total', { kind: 'swap', outcome })
  const requestCounted = counted(requestSwap, count, acceptedOrRepeated)
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/swap',
      {
        schema: swap,
        config: {
          scope: 'transactions:write',
          idempotent: true,
          quotas: ['transactions_waiting'],
          rate: 'quotes_per_second',
          waits: 'up to 2 seconds for the hash',
          refusals: {
            404: 'The wallet or the quote does not exist.',
            409: 'The quote has expired, is used or has moved, another swap is open, or the wallet is archived.',
            503: 'No node answers, or gas costs more than the cap.',
          },
        },
      },
      (request, reply) => {
        const { tenantId, environment } = request.caller
        return replyAccepted(request, reply, {
          accept: (metadata) =>
            requestCounted(ctx, toOrder(request.params.wallet_id, request.body), metadata, environment),
          async answer({ id: swapId, made }, waitMs, over) {
            const id = made?.transaction_id ?? (await transactionOfSwap(ctx.pool, swapId))
            return answerAccepted(ctx, tenantId, { id, made }, waitMs, over)
          },
        })
      },
    )
  }
}

/** @throws ValidationFailed naming each missing field, or each field that the quote contains already */
function toOrder(walletId: string, body: Static<typeof swapBody>): SwapOrder {
  const shared = {
    walletId,
    gasPriority: body.gas_priority ?? 'medium',
    ...callerFieldsOf(body),
  } as const
  const { quote_id: quoteId, from_asset, to_asset, amount } = body
  if (quoteId !== undefined) {
    const others = Object.keys(quoteBody.properties).filter((field) => field in body)
    refuse(
      others.map((field) => ({
        field,
        code: 'not_with_quote',
        message: `${field} is part of the quote: omit it, or omit quote_id.`,
      })),
    )
    return { ...shared, quote: { quoteId } }
  }
  const missing = Object.entries({ from_asset, to_asset, amount }).filter(([, value]) => value === undefined)
  refuse(missing.map(([field]) => ({ field, code: 'required', message: `${field} is required without quote_id.` })))
  const fields = { ...body, from_asset: from_asset ?? '', to_asset: to_asset ?? '', amount: amount ?? '' }
  return { ...shared, quote: { request: toSwap(walletId, fields) } }
}

function refuse(mistakes: readonly Omit<ErrorItem, 'type'>[]): void {
  if (mistakes.length > 0) throw new ValidationFailed(mistakes)
}
