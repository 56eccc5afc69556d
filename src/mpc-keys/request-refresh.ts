/** Accepts that the shares of a wallet's key are to be made anew. A signer process has it done; the address stays. */
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Opened } from '../event-log/append-once.ts'
import { type FindReplay, replayInsteadOf } from '../event-log/find-replay.ts'
import type { EventLog } from '../event-log/log.ts'
import type { WalletFacts } from '../wallets/wallet-facts.ts'
import { keyIdOf } from './key-of-wallet.ts'
import { mpcKeyAggregate } from './projection.ts'

export type RequestRefreshPorts = {
  readonly log: EventLog
  readonly findReplay: FindReplay
  readonly newId: NewId
}

/**
 * What it opens is the refresh, by its id.
 *
 * @param lostBy the party whose share is to be repaired; `null` when none is lost
 * @throws ValidationFailed `mpc_only`, or of `party`; Conflict `wallet_not_ready`, `refresh_in_progress`; IdempotencyKeyReused
 */
export type RequestRefresh = (
  wallet: WalletFacts,
  lostBy: number | null,
  context: { readonly metadata: Metadata },
) => Promise<Opened>

export function createRequestRefresh({ log, findReplay, newId }: RequestRefreshPorts): RequestRefresh {
  return async (wallet, lostBy, { metadata }) => {
    const keyId = keyIdOf(wallet)
    const before = await findReplay(metadata)
    if (before !== null) return { id: before, replayed: true }
    const refreshId = newId('refresh')
    const { tenantId, idempotency } = metadata
    const guards = idempotency ? { idempotency: { tenantId, ...idempotency, resourceId: refreshId } } : {}
    const reason = lostBy === null ? 'requested' : 'recovery'
    const command = { type: 'RequestRefresh', refreshId, reason, party: lostBy, now: log.now() } as const
    return log.execute(mpcKeyAggregate, keyId, command, { metadata, guards }).then(
      () => ({ id: refreshId, replayed: false }),
      // Of two requests with one key at the same instant, the second finds a refresh under way: its own.
      (refusal) => replayInsteadOf(refusal, findReplay, metadata),
    )
  }
}
