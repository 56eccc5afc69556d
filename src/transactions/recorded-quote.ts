/** A fee quote as the log keeps it, so that later anybody can see what fees were decided on. Pure. */
import type { FeeQuote } from '../chain/fees.ts'
import type { GasPriority, RecordedQuote } from './events.ts'

/** @param priority that was decided for: of the quote it alone is kept */
export function recordedQuote(quote: FeeQuote, priority: GasPriority): RecordedQuote {
  const { maxFeePerGas, maxPriorityFeePerGas } = quote[priority]
  return {
    baseFeePerGas: quote.baseFeePerGas.toString(),
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: maxPriorityFeePerGas.toString(),
  }
}
