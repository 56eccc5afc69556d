/** A thread of the verification: checks its share of the streams on a snapshot that was given to it. Reads only. */
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { LOG_START } from '../../event-log/subscription.ts'
import { createChainCheck } from '../chain/chain-check.ts'
import { readLogRows } from '../chain/log-rows.ts'
import type { ShareMessage, ShareTask } from './chain-shares.ts'

/** Events in one read: a few megabytes. */
const BATCH_SIZE = 4_000

const { connectionString, snapshot, share } = workerData as ShareTask
const tell = (message: ShareMessage) => parentPort?.postMessage(message)
const client = new pg.Client({ connectionString, application_name: 'bursar-audit-verify' })

async function run(): Promise<void> {
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`)
  const chain = createChainCheck(client)
  let events = 0
  let after = LOG_START
  let reading = readLogRows(client, after, BATCH_SIZE, share)
  for (;;) {
    const rows = await reading
    const last = rows.at(-1)
    if (last === undefined) return tell({ type: 'end', events, bad: null })
    after = last.place
    const bad = await chain.check(rows)
    if (bad !== null) return tell({ type: 'end', events: events + rows.length, bad })
    reading = readLogRows(client, after, BATCH_SIZE, share)
    events += rows.length
    tell({ type: 'progress', events })
  }
}

try {
  await run()
} catch (error) {
  tell({ type: 'failed', error })
} finally {
  await client.end()
}
