/**
 * Records that one party accuses another of failing a check, and raises the alarm. The two no longer sign together; a
 * party with enough accusers is banned. A refresh of the shares lifts both.
 */
import { change } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { MpcKeyState } from './state.ts'

export type Accusation = {
  readonly keyId: string
  /** The epoch whose share the party used. */
  readonly epoch: number
  readonly party: number
  /** The accuser. */
  readonly accusedBy: number
  /** The failed check, as text without secrets: it is recorded. */
  readonly reason: string
}

export type RecordAccusationPorts = {
  readonly log: EventLog
  /**
   * Called for each accusation, and once more for each ban, when they are in the log. Processes that report the same in
   * the same millisecond append the same event: then each of them is told.
   */
  readonly onRecorded: (accusation: Accusation, what: 'accused' | 'banned') => void
}

/**
 * Each party accuses another once per key and epoch; a report about a past epoch changes nothing.
 *
 * @throws NotFound for an unknown key; ValidationFailed for numbers that are not two of its parties
 */
export type RecordAccusation = (accusation: Accusation) => Promise<void>

export function createRecordAccusation({ log, onRecorded }: RecordAccusationPorts): RecordAccusation {
  return async (accusation) => {
    const { keyId, ...report } = accusation
    let wasBanned = false
    const [accused] = await log.commit(async () => {
      const loaded = await log.load(mpcKeyAggregate, keyId)
      wasBanned = isBanned(loaded.state, report.party)
      const wallet = loaded.state.status === 'unknown' ? null : loaded.state.wallet
      const now = log.now()
      const metadata = { tenantId: wallet?.tenantId ?? 'system', actor: 'worker:signer' }
      return [change(mpcKeyAggregate, loaded, { type: 'AccuseParty', ...report, now }, { metadata, now })]
    })
    if (accused === undefined) return
    onRecorded(accusation, 'accused')
    if (isBanned(accused.after.state, report.party) && !wasBanned) onRecorded(accusation, 'banned')
  }
}

function isBanned(state: MpcKeyState, party: number): boolean {
  return state.status !== 'unknown' && state.banned.includes(party)
}
