/** Wallets according to the log, for everything that signs: each with a key that the log assigned to it. */
import { mpcKeyProblems } from '../mpc-wallets/key-problems.ts'
import { hdKeyProblems } from '../wallets/hd-key-problems.ts'
import { createRecordedWalletFacts, type WalletFactsOf } from '../wallets/wallet-facts.ts'
import type { Kernel } from './kernel.ts'

export function composeRecordedWallets(kernel: Pick<Kernel, 'log' | 'pool'>): WalletFactsOf {
  return createRecordedWalletFacts(kernel.log, [
    (wallets) => hdKeyProblems(kernel, wallets),
    (wallets) => mpcKeyProblems(kernel, wallets),
  ])
}
