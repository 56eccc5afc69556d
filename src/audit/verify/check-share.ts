/** Checks the hash chains of a share of the streams, in log order, on a connection with a fixed snapshot. */
import { LOG_START } from '../../event-log/subscription.ts'
import { type BadEvent, createChainCheck } from '../chain/chain-check.ts'
import { type Queryable, readLogRows, type Share } from '../chain/log-rows.ts'

/** Events in one read: a few megabytes. */
const BATCH_SIZE = 4_000

export type CheckedShare = {
  /** The number of events checked. */
  readonly events: number
  /** The first bad event in log order, or `null`. */
  readonly bad: BadEvent | null
}

export async function checkShare(
  database: Queryable,
  share: Share,
  onProgress: (events: number) => void,
): Promise<CheckedShare> {
  const chain = createChainCheck(database)
  let events = 0
  for (let after = LOG_START; ; ) {
    const rows = await readLogRows(database, after, BATCH_SIZE, share)
    const last = rows.at(-1)
    if (last === undefined) return { events, bad: null }
    events += rows.length
    const bad = await chain.check(rows)
    if (bad !== null) return { events, bad }
    after = last.place
    onProgress(events)
  }
}
