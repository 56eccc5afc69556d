/** What an index of the log adds to the WAL of appends: those of transfers from their request to their end, one by one. */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { readInclusion } from '../../src/transactions/read-events.ts'
import { newTransactionId, seedWallet, withLog } from '../support/log.ts'
import { signature } from '../support/operator-stage.ts'
import { decided, NOW, REQUEST } from '../support/raw-append.ts'
import { mined } from '../support/recorded-transactions.ts'

/** Before anything is measured: then the index has pages for each type, and not one for all. */
const FIRST = 100
const TRANSFERS = Number(process.env.BURSAR_WAL_TRANSFERS ?? 200)
/** An entry of 32 bytes with its record, and its share of pages that are split. */
const MOST_BYTES = 120
const MOST_SHARE = 0.055

const walBytes = async (pool: Pool) =>
  Number((await pool.query(`SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes`)).rows[0]?.bytes)

/** WAL of an append, in bytes, without images of whole pages. @param change of the schema */
async function bytesOfAppend(t: Test, change: string): Promise<number> {
  const { pool, log } = await withLog(t)
  for (const statement of [change, 'ALTER SYSTEM SET full_page_writes = off', 'SELECT pg_reload_conf()'])
    await pool.query(statement)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 24n })
  let appends = 0
  async function transfer(nonce: number): Promise<void> {
    const id = newTransactionId()
    const signing = signature(id, nonce, 2n, NOW)
    const { hash } = signing.signed
    const commands: readonly TransactionCommand[] = [
      REQUEST,
      signing,
      { type: 'RecordSubmission', hash, now: NOW },
      { type: 'RecordInclusion', inclusion: { ...readInclusion(mined.data), hash } },
      { type: 'Settle', confirmations: 32, revertReason: '', now: NOW },
    ]
    for (const command of commands) await log.append({ changes: [await decided(log, id, command)] })
    appends += commands.length
  }
  for (let n = 0; n < FIRST; n += 1) await transfer(n)
  await pool.query('CHECKPOINT')
  const before = { bytes: await walBytes(pool), appends }
  for (let n = FIRST; n < FIRST + TRANSFERS; n += 1) await transfer(n)
  return ((await walBytes(pool)) - before.bytes) / (appends - before.appends)
}

t.test('the index of types adds about a hundred bytes to the WAL of an append', async (t: Test) => {
  const without = await bytesOfAppend(t, 'DROP INDEX events_by_type')
  const bytes = await bytesOfAppend(t, 'SELECT')
  t.comment(`${without.toFixed(0)} → ${bytes.toFixed(0)} bytes, ${((100 * (bytes - without)) / without).toFixed(1)} %`)
  t.ok(bytes - without <= MOST_BYTES, `${bytes - without} bytes`)
  t.ok(bytes / without <= 1 + MOST_SHARE, `${bytes / without}`)
})

t.end()
