/** Asks for new shares of a key when a party says that those of now have served as many signatures as they should. */
import { Conflict } from '../core/errors.ts'
import type { NewId } from '../declarations.ts'
import type { EventLog } from '../event-log/log.ts'
import { mpcKeyAggregate } from './aggregate.ts'

/** A party that says so of fresh shares is broken or lies, and one that is down makes a refresh fail: neither is asked for at once. */
const PAUSE_MS = 60 * 60_000

export type RefreshWornPorts = {
  readonly log: EventLog
  readonly newId: NewId
  readonly onRequested: (keyId: string) => void
}

/** Changes nothing while a refresh is under way, for an hour after the last one was asked for, and for a key that no wallet has. */
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
      if (!(error instanceof Conflict)) throw error // Somebody asked meanwhile: it is under way.
    }
  }
}
