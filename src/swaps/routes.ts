/** HTTP routes of swaps. */
import type { Static } from '@sinclair/typebox'
import { success, successOf } from '../http/envelope.ts'
import type { Routes } from '../http/request.ts'
import { metadataOf } from '../http/request-metadata.ts'
import { requireQuoteRoom } from './quote-room.ts'
import type { SwapRequest } from './quote-swap.ts'
import type { SwapContext } from './request-swap.ts'
import { DEFAULT_TERMS, quoteBody, quoteSchema, walletParams } from './schemas.ts'
import { toView } from './view.ts'

const quote = {
  tags: ['Swaps'],
  operationId: 'quoteSwap',
  summary: 'Quote a swap',
  description:
    'Returns the best route for a swap over every configured exchange, at one block: amounts, price impact, fees, the approval that it ' +
    'needs, and what stands in its way. The swap is executed in a simulation first. Nothing is sent.',
  params: walletParams,
  body: quoteBody,
  response: { 200: successOf(quoteSchema, 'The quote.') },
}

export function swapRoutes(ctx: SwapContext): Routes {
  return (app) => {
    app.post(
      '/v1/wallets/:wallet_id/swap/quote',
      {
        schema: quote,
        config: {
          scope: 'transactions:read',
          rate: 'quotes_per_second',
          refusals: {
            403: 'The limits of the API key would not allow the swap: `key_limit`.',
            409: 'The wallet is archived, or a token cannot be read.',
            503: 'No node answers, or gas costs more than the cap.',
          },
        },
      },
      async (request) => {
        const made = await ctx.quoteSwap(toSwap(request.params.wallet_id, request.body), request.caller)
        await requireQuoteRoom(ctx, made, { ...request.caller, actor: metadataOf(request).actor })
        await ctx.keepQuote(made)
        return success(toView(made))
      },
    )
  }
}

export function toSwap(walletId: string, body: Static<typeof quoteBody>): SwapRequest {
  return {
    walletId,
    fromAsset: body.from_asset,
    toAsset: body.to_asset,
    amount: body.amount,
    terms: {
      amountType: body.amount_type ?? DEFAULT_TERMS.amountType,
      slippageBps: body.slippage_bps ?? DEFAULT_TERMS.slippageBps,
      maxPriceImpactBps: body.max_price_impact_bps ?? DEFAULT_TERMS.maxPriceImpactBps,
      deadlineSeconds: body.deadline_seconds ?? DEFAULT_TERMS.deadlineSeconds,
    },
  }
}
