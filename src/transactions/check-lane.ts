/** The transactions of a lane that may be signed; the others are reported, and wait. */
import type { Loaded } from '../event-log/aggregate.ts'
import { sameHex } from '../keys/coverage.ts'
import type { SigningWallet } from '../wallets/signing-wallet.ts'
import type { CheckRecorded } from './check-recorded.ts'
import type { Intent } from './events.ts'
import { type Lane, laneName } from './lanes.ts'
import type { OnRefused } from './sign-batch.ts'
import type { KnownTransaction, TransactionState } from './state.ts'

export type Sound = {
  readonly loaded: Loaded<TransactionState>
  readonly wallet: SigningWallet
  readonly transaction: KnownTransaction
}

export async function checkLane(
  { check, onRefused }: { readonly check: CheckRecorded; readonly onRefused: OnRefused },
  lane: Lane,
  transactionIds: readonly string[],
): Promise<readonly Sound[]> {
  return (await check(transactionIds)).flatMap(({ loaded, wallet, problem }): Sound[] => {
    const { state } = loaded
    const reason = problem ?? (state.state === 'unknown' ? null : foreignLane(state.intent, lane))
    if (reason !== null) onRefused(loaded.id, reason)
    return reason !== null || wallet === null || state.state === 'unknown'
      ? []
      : [{ loaded, wallet, transaction: state }]
  })
}

/** The row determines the lane; a transaction is signed there only if its events name the same chain and sender. */
function foreignLane({ chainId, from }: Intent, lane: Lane): string | null {
  if (chainId === lane.chainId && sameHex(from, lane.address)) return null
  return `its events place it in the lane ${laneName({ chainId, address: from })}`
}
