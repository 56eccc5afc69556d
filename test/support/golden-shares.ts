/**
 * Shares of two keys that were made once and are read for ever: those of wallets that exist must stay readable, and making
 * some takes seconds. They are keys of tests alone: whoever reads this has them whole.
 */
import { readFileSync } from 'node:fs'

/** The shares of a key of `threshold` parties out of `parties`, party 1 first: there is one of 2 of 3, and one of 2 of 2. */
export function goldenShares(threshold: 2, parties: 2 | 3): readonly Uint8Array[] {
  return Array.from({ length: parties }, (_, index) => {
    const name = `${threshold}-of-${parties}-party-${index + 1}.share`
    return new Uint8Array(readFileSync(new URL(`../golden/mpc/${name}`, import.meta.url)))
  })
}
