/** A thread of the verification: checks its share of the streams on a given snapshot. Read only. */
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import type { ShareMessage, ShareTask } from './chain-shares.ts'
import { checkShare } from './check-share.ts'

const { connectionString, snapshot, share } = workerData as ShareTask
const tell = (message: ShareMessage) => parentPort?.postMessage(message)
const client = new pg.Client({ connectionString, application_name: 'bursar-audit-verify' })

client.on('error', () => undefined) // The running statement fails with the same error.

async function run(): Promise<void> {
  await client.connect()
  await client.query('SET idle_in_transaction_session_timeout = 0') // It computes between two statements, and delays nobody.
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`)
  const checked = await checkShare(client, share, (events) => tell({ type: 'progress', events }))
  tell({ type: 'end', ...checked })
}

try {
  await run()
} catch (error) {
  tell({ type: 'failed', error })
} finally {
  await client.end()
}
