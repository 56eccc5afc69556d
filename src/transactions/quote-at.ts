/** The fee quote that a lane signs with, and the part of it that a transaction records. */
import type { FeeQuote } from '../chain/fees.ts'
import { Unavailable } from '../core/errors.ts'
import type { GasPriority, Quote } from './events.ts'

/**
 * What a transaction records of it, to show later what its fees were based on. Pure.
 *
 * @param priority the chosen one; only its part of the quote is kept
 */
export function quoteAt(quote: FeeQuote, priority: GasPriority): Quote {
  return { baseFeePerGas: quote.baseFeePerGas, ...quote[priority] }
}

/**
 * The current fees, unless gas costs more than the hard cap: then nothing is signed, and waiting requests may still
 * expire.
 *
 * @returns `null` above the cap
 * @throws Unavailable when no node returns the fees
 */
export async function quoteUnderCap(quote: () => Promise<FeeQuote>): Promise<FeeQuote | null> {
  return quote().catch((error) => {
    if (error instanceof Unavailable && error.code === 'fee_cap_exceeded') return null
    throw error
  })
}
