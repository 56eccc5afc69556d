/** The known balances of a wallet: the newest observation of each asset. `evolve` accepts every known event. */
import type { BalanceEvent, BlockRef } from './events.ts'

export type KnownBalance = BlockRef & { readonly balance: string; readonly observedAt: string }

/** By asset id (CAIP-19). */
export type BalanceState = { readonly [assetId: string]: KnownBalance }

export const NOTHING_KNOWN: BalanceState = {}

export function evolve(before: BalanceState, { data }: BalanceEvent): BalanceState {
  const { asset, balance, blockNumber, blockHash, observedAt } = data
  return { ...before, [asset.assetId]: { balance, blockNumber, blockHash, observedAt } }
}
