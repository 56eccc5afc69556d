/** The logs of a mined transaction that are recorded with it. Pure. */
import type { ChainLogEntry } from '../chain/blocks.ts'
import type { RecordedLog, RecordedLogs } from './events.ts'

/** Limits of one event. A swap has about ten logs. */
const MAX_KEPT_LOGS = 64
const MAX_KEPT_LOG_BYTES = 32 * 1024

/** The first logs that fit the limits, in order: a contract can emit as many as its gas pays for. */
export function keptLogs(logs: readonly ChainLogEntry[]): RecordedLogs {
  const entries: RecordedLog[] = []
  let bytes = 0
  for (const { address, topics, data, logIndex } of logs.slice(0, MAX_KEPT_LOGS)) {
    const entry = { address, topics, data, logIndex }
    bytes += JSON.stringify(entry).length
    if (bytes > MAX_KEPT_LOG_BYTES) break
    entries.push(entry)
  }
  return { entries, cut: entries.length < logs.length }
}
