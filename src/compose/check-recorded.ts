/** The checks of recorded transactions, for signers, parties and operators. */
import { policyStreamId } from '../policies/aggregate.ts'
import type { CheckRequests } from '../policies/check-requests.ts'
import { type CheckRecorded, checkRecorded } from '../transactions/check-recorded.ts'
import { createProveLost } from '../transactions/prove-lost.ts'
import { createRowsOf } from '../transactions/recorded-rows.ts'
import type { TagKeys } from '../transactions/tags.ts'
import type { SigningWalletOf } from '../wallets/signing-wallet.ts'
import { KINDS } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { transactionProblems } from './policy-problems.ts'

export function composeCheckRecorded(
  { log, pool, chains }: Pick<Kernel, 'log' | 'pool' | 'chains'>,
  walletOf: SigningWalletOf,
  keys: TagKeys | null,
  check: CheckRequests,
): CheckRecorded {
  const proveLost = createProveLost({
    keys,
    chainOf(chainId) {
      const chain = chains.byChainId(chainId)
      return chain === undefined ? null : { ...chain.settings, client: chain.client }
    },
  })
  const rowsOf = createRowsOf(pool)
  const ctx: Parameters<typeof checkRecorded>[0] = {
    log,
    rowsOf,
    walletOf,
    proveLost,
    kinds: KINDS,
    keys,
    settingsOf: (chainId) => chains.byChainId(chainId)?.settings,
    policyProblems: transactionProblems(check),
    policyStreamOf: policyStreamId,
  }
  return (transactionIds) => checkRecorded(ctx, transactionIds)
}
