/** A fee quote as recorded in the log, to show later what fees were based on. Pure. */
import type { FeeQuote } from '../chain/fees.ts'
import type { GasPriority, RecordedQuote } from './events.ts'

/** @param priority the chosen one; only its part of the quote is kept */
export function recordedQuote(quote: FeeQuote, priority: GasPriority): RecordedQuote {
  const { maxFeePerGas, maxPriorityFeePerGas } = quote[priority]
  return {
    baseFeePerGas: quote.baseFeePerGas.toString(),
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: maxPriorityFeePerGas.toString(),
  }
}
