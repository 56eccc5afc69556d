/** The part of a fee quote that a transaction records, to show later what its fees were based on. Pure. */
import type { FeeQuote } from '../chain/fees.ts'
import type { GasPriority, Quote } from './events.ts'

/** @param priority the chosen one; only its part of the quote is kept */
export function quoteAt(quote: FeeQuote, priority: GasPriority): Quote {
  return { baseFeePerGas: quote.baseFeePerGas, ...quote[priority] }
}
