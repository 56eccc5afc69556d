/** Records that a party may not sign with a key any more, and raises the alarm. Refreshing the shares lifts it. */
import { change } from '../event-log/aggregate.ts'
import { StreamConflict } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import { mpcKeyAggregate } from './projection.ts'

const MAX_TRIES = 10

export type Ban = {
  readonly keyId: string
  /** The epoch whose share the party used. */
  readonly epoch: number
  readonly party: number
  /** The party that saw it; `null` for the coordinator. */
  readonly reportedBy: number | null
  /** Which check failed, in words without secrets: it is recorded. */
  readonly reason: string
}

export type RecordBanPorts = {
  readonly log: EventLog
  /** Told once of each ban, when it is in the log. */
  readonly onBanned: (ban: Ban) => void
}

/**
 * A party is banned once per key and epoch; a report of an epoch that is over changes nothing.
 *
 * @throws NotFound for an unknown key; ValidationFailed for a number that is no party of it
 */
export type RecordBan = (ban: Ban) => Promise<void>

export function createRecordBan({ log, onBanned }: RecordBanPorts): RecordBan {
  return async (ban) => {
    const { keyId, ...report } = ban
    for (let tries = 1; ; tries += 1) {
      const loaded = await log.load(mpcKeyAggregate, keyId)
      const wallet = loaded.state.status === 'unknown' ? null : loaded.state.wallet
      const now = log.now()
      const metadata = { tenantId: wallet?.tenantId ?? 'system', actor: 'worker:signer' }
      const banned = change(mpcKeyAggregate, loaded, { type: 'BanParty', ...report, now }, { metadata, now })
      if (banned === null) return
      try {
        await log.append({ changes: [banned] })
        onBanned(ban)
        return
      } catch (error) {
        if (!(error instanceof StreamConflict) || tries >= MAX_TRIES) throw error
      }
    }
  }
}
