/** Wallets according to the log, for everything that signs: each with a key that the log assigned to it. */
import { createMpcKeyProblems } from '../mpc-wallets/key-problems.ts'
import { createHdKeyProblems } from '../wallets/hd-key-problems.ts'
import { createRecordedWalletFacts, type WalletFactsOf } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'

export function composeRecordedWallets({ log, pool }: Pick<Kernel, 'log' | 'pool'>): WalletFactsOf {
  return createRecordedWalletFacts(log, [createHdKeyProblems(pool), createMpcKeyProblems(log)])
}
