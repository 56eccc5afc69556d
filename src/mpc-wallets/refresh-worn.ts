/** Requests a refresh when a party reports that the shares of a key have reached their number of signatures. */
import { Conflict } from '../core/errors.ts'
import type { NewId } from '../declarations.ts'
import type { EventLog } from '../event-log/log.ts'
import { mpcKeyAggregate } from './aggregate.ts'

/**
 * A party that reports this for fresh shares is faulty, and a party that is down makes a refresh fail: neither is
 * repeated immediately.
 */
const PAUSE_MS = 60 * 60_000

export type RefreshWornPorts = {
  readonly log: EventLog
  readonly newId: NewId
  readonly onRequested: (keyId: string) => void
}

/** Does nothing while a refresh is open, for an hour after the last request, and for a key without a wallet. */
export type RefreshWorn = (keyId: string) => Promise<void>

export function createRefreshWorn({ log, newId, onRequested }: RefreshWornPorts): RefreshWorn {
  return async (keyId) => {
    const { state } = await log.load(mpcKeyAggregate, keyId)
    if (state.status !== 'assigned' || state.wallet === null) return
    const now = log.now()
    if (state.refresh !== null && Date.parse(now) - Date.parse(state.refresh.requestedAt) < PAUSE_MS) return
    const refreshId = newId('refresh')
    const command = { type: 'RequestRefresh', refreshId, reason: 'scheduled', party: null, now } as const
    const metadata = { tenantId: state.wallet.tenantId, actor: 'worker:signer' }
    try {
      await log.execute(mpcKeyAggregate, keyId, command, { metadata })
      onRequested(keyId)
    } catch (error) {
      if (!(error instanceof Conflict)) throw error // Already requested meanwhile.
    }
  }
}
