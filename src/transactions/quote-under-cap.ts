/**
 * The current fees, unless gas costs more than the hard cap: then nothing is signed, and waiting requests may still
 * expire.
 */
import type { FeeQuote } from '../chain/fees.ts'
import { Unavailable } from '../core/errors.ts'

/** @returns `null` above the cap. @throws Unavailable when no node returns the fees */
export async function quoteUnderCap(quote: () => Promise<FeeQuote>): Promise<FeeQuote | null> {
  return quote().catch((error) => {
    if (error instanceof Unavailable && error.code === 'fee_cap_exceeded') return null
    throw error
  })
}
