/** Metrics of swaps. */
import { Counter, type Registry } from 'prom-client'

export type SwapMetrics = {
  /** One quote of a swap, or its refusal. @param outcome `quoted`, or the code of the error */
  readonly countSwapQuote: (outcome: string) => void
  /** The exchange whose route a quote has. */
  readonly countSwapRoute: (route: { readonly network: string; readonly venue: string }) => void
  /** One answer of a hosted source. @param answer `outcome` is `chosen`, or why it was not taken */
  readonly countSourceAnswer: (answer: { readonly source: string; readonly outcome: string }) => void
}

export function createSwapMetrics(registry: Registry): SwapMetrics {
  const registers = [registry]
  const quotes = new Counter({
    name: 'bursar_swap_quotes_total',
    help: 'Quotes of swaps, by outcome: `quoted`, or the code of the error.',
    labelNames: ['outcome'],
    registers,
  })
  const routes = new Counter({
    name: 'bursar_swap_routes_total',
    help: 'Quotes of swaps, by the exchange that gave the best route: `wrap` and `unwrap` need none.',
    labelNames: ['network', 'venue'],
    registers,
  })
  const answers = new Counter({
    name: 'bursar_swap_source_answers_total',
    help: 'Answers of hosted sources of quotes, by outcome: `chosen`, or why it was not taken.',
    labelNames: ['source', 'outcome'],
    registers,
  })
  return {
    countSwapQuote: (outcome) => quotes.inc({ outcome }),
    countSwapRoute: (route) => routes.inc(route),
    countSourceAnswer: (answer) => answers.inc(answer),
  }
}
