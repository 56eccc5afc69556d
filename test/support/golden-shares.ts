/**
 * Recorded shares of two keys: shares of existing wallets must stay readable, and creating some takes seconds. These
 * keys are for tests only, since they are public.
 */
import { readFileSync } from 'node:fs'

/** The shares of a key with `threshold` of `parties`, party 1 first: 2 of 3 and 2 of 2 exist. */
export function goldenShares(threshold: 2, parties: 2 | 3): readonly Uint8Array[] {
  return Array.from({ length: parties }, (_, index) => {
    const name = `${threshold}-of-${parties}-party-${index + 1}.share`
    return new Uint8Array(readFileSync(new URL(`../golden/mpc/${name}`, import.meta.url)))
  })
}
