/** Decodes the recorded logs of a contract call by the events that its caller described. */
import { parseRecorded } from '../chain/abi-fragment.ts'
import { decodeLog } from '../chain/abi-logs.ts'
import { toChecksumAddress } from '../chain/address.ts'
import type { CallRecord, RecordedLogs } from './events.ts'

/** In the order of the receipt; events that the caller did not describe stay raw. */
export function decodeLogs({ entries }: RecordedLogs, { events }: CallRecord) {
  const known = entries.length === 0 ? [] : parseRecorded('event', events)
  return entries.map((log) => {
    const decoded = decodeLog(log, known)
    return {
      address: toChecksumAddress(log.address),
      log_index: log.logIndex,
      name: decoded?.name ?? null,
      signature: decoded?.signature ?? null,
      args: decoded?.args ?? null,
      topics: log.topics,
      data: log.data,
    }
  })
}
