/** Checks the hash chains of a share of the streams, in log order, on a connection with a fixed snapshot. */
import { LOG_START } from '../../event-log/subscription.ts'
import { type BadEvent, createChainCheck } from '../chain/chain-check.ts'
import { type Queryable, readLogRows, type Share } from '../chain/log-rows.ts'

/** Events in one read: a few megabytes. */
const BATCH_SIZE = 4_000

export type CheckedShare = {
  /** The number of events checked. */
  readonly events: number
  /** The first bad events in log order. */
  readonly bad: readonly BadEvent[]
  /** How many there are. */
  readonly badEvents: number
}

/** At most these are kept of a share. */
const MOST_KEPT = 1_000

export async function checkShare(
  database: Queryable,
  share: Share,
  onProgress: (events: number) => void,
): Promise<CheckedShare> {
  const chain = createChainCheck(database)
  const found: BadEvent[] = []
  let events = 0
  let badEvents = 0
  for (let after = LOG_START; ; ) {
    const rows = await readLogRows(database, after, BATCH_SIZE, share)
    const last = rows.at(-1)
    if (last === undefined) return { events, bad: found, badEvents }
    events += rows.length
    const bad = await chain.check(rows)
    badEvents += bad.length
    found.push(...bad.slice(0, MOST_KEPT - found.length))
    after = last.place
    onProgress(events)
  }
}
