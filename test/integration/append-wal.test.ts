/** What an index of the log adds to the WAL of appends: those of transfers from their request to their end, one by one. */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { newTransactionId, seedWallet, withLog } from '../support/log.ts'
import { signature } from '../support/operator-stage.ts'
import { decided, NOW, REQUEST } from '../support/raw-append.ts'
import { mined } from '../support/recorded-transactions.ts'

/** Before anything is measured: then the index has a page for each type, and not one for all. */
const FIRST = 40
const TRANSFERS = Number(process.env.BURSAR_WAL_TRANSFERS ?? 100)
/** An entry of 32 bytes with its record, and its share of pages that are split. */
const MOST_BYTES = 130
const MOST_SHARE = 0.06

const placeInWal = async (pool: Pool) =>
  (await pool.query('SELECT pg_current_wal_insert_lsn() AS place')).rows[0]?.place as string

t.test('the index of types adds about a hundred bytes to the WAL of an append', async (t: Test) => {
  const { pool, log } = await withLog(t)
  // No images of whole pages, and nothing that PostgreSQL writes beside the appends.
  for (const setting of ['full_page_writes', 'autovacuum']) await pool.query(`ALTER SYSTEM SET ${setting} = off`)
  t.after(() => pool.query('ALTER SYSTEM RESET ALL'))
  await pool.query('SELECT pg_reload_conf()')
  await pool.query('CREATE EXTENSION pg_walinspect')
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
      { type: 'RecordInclusion', inclusion: { ...mined.data, hash } },
      { type: 'Settle', confirmations: 32, revertReason: '', now: NOW },
    ]
    for (const command of commands) await log.append({ decisions: [await decided(log, id, command)] })
    appends += commands.length
  }
  for (let n = 0; n < FIRST; n += 1) await transfer(n)
  await pool.query('CHECKPOINT')
  const start = await placeInWal(pool)
  appends = 0
  for (let n = FIRST; n < FIRST + TRANSFERS; n += 1) await transfer(n)
  const { rows } = await pool.query<{ own: string; all: string }>(
    `SELECT sum(record_length) FILTER (WHERE block_ref LIKE '%/' || pg_relation_filenode('events_by_type') || ' %') AS own,
            sum(record_length) AS "all"
       FROM pg_get_wal_records_info($1, $2) WHERE resource_manager IN ('Heap', 'Heap2', 'Btree', 'Transaction')`,
    [start, await placeInWal(pool)],
  )
  const own = Number(rows[0]?.own) / appends
  const without = Number(rows[0]?.all) / appends - own
  t.comment(`${without.toFixed(0)} bytes without, ${own.toFixed(0)} more: ${((100 * own) / without).toFixed(1)} %`)
  t.ok(own > 0 && own <= MOST_BYTES, `${own} bytes`)
  t.ok(own / without <= MOST_SHARE, `${own / without}`)
})

t.end()
