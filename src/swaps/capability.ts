/** What swaps do. */
import { type Capability, explained } from '../capability.ts'
import { formatAmount } from '../core/money.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { swapAggregate } from './aggregate.ts'
import { swapIntents } from './intents.ts'
import { swapKinds } from './opening-rules.ts'
import { swapPart } from './part-published.ts'
import { amountsOf, placeOf } from './route.ts'
import { swapSpenders } from './swap-target.ts'

export const swaps: Capability = {
  aggregates: [anyAggregate(swapAggregate)],
  judges: swapIntents,
  kinds: swapKinds,
  parts: { swap: swapPart },
  spenders: ({ swaps }) => swapSpenders(swaps),
  forOperators: () => import('./for-operators.ts'),
  place: 40,
  routes: async () => (await import('./swap-routes.ts')).swapApi,
  explains: [
    explained(swapAggregate, {
      prefix: 'swap',
      noun: 'swap',
      transactionsOf: 'swap',
      texts: {
        SwapRecorded({ quote: { fromAsset, toAsset, terms, route, block }, walletId, deadline }) {
          const { amountIn, amountOut, limit } = amountsOf(route)
          const [paid, received] = [
            formatAmount(amountIn, fromAsset.decimals),
            formatAmount(amountOut, toAsset.decimals),
          ]
          const bound =
            terms.amountType === 'exact_input'
              ? `at least ${formatAmount(limit, toAsset.decimals)} ${toAsset.symbol}`
              : `at most ${formatAmount(limit, fromAsset.decimals)} ${fromAsset.symbol}`
          return `${paid} ${fromAsset.symbol} for ${received} ${toAsset.symbol} requested from wallet ${walletId} by ${placeOf(route)}, ${bound}, until ${deadline}; quoted at block ${block.number}`
        },
      },
    }),
  ],
}
