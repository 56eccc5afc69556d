/** What a mint has come to: the fold of its events. */
import type { Mint, MintEvent } from './events.ts'

export type KnownMint = { readonly state: 'recorded'; readonly mint: Mint }
export type MintState = { readonly state: 'unknown' } | KnownMint

export const UNKNOWN_MINT: MintState = { state: 'unknown' }

export function evolve(_before: MintState, event: MintEvent): MintState {
  return { state: 'recorded', mint: event.data }
}
