/** Wallets according to the log, for everything that signs: each with a key that the log assigned to it. */
import { mapValues } from '../core/map-values.ts'
import type { KeyKind } from '../wallets/key-kinds.ts'
import { createRecordedWalletFacts } from '../wallets/recorded-wallet-facts.ts'
import type { KeyProblemsOf, WalletFactsOf } from '../wallets/wallet-facts.ts'
import { KEY_KINDS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

export function composeRecordedWallets(kernel: Pick<Kernel, 'log' | 'pool'>): WalletFactsOf {
  const judging =
    ({ problems }: KeyKind): KeyProblemsOf =>
    (wallets) =>
      problems(kernel, wallets)
  return createRecordedWalletFacts(kernel.log, mapValues(KEY_KINDS, judging))
}
