/** Long events in a row, which one login may append, take the auditor no more memory than one page of the log. */
import t from 'tap'
import { readLogRows } from '../../src/audit/chain/log-rows.ts'
import { growTree } from '../../src/audit/tree/grow-tree.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { LOG_START } from '../../src/event-log/subscription.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { METADATA, NOW, REQUEST, withTransfers } from '../support/raw-append.ts'

const LONG = 9 * 1_024 * 1_024
const COUNT = 4

t.test('a page of the log has as many events as fit, and the tree grows over all of them', async (t) => {
  const { pool, log, ids } = await withTransfers(t, COUNT)
  for (const id of ids) {
    const data = { code: 'expired', message: 'a'.repeat(LONG), failedAt: NOW } as const
    const decide = () => [{ type: 'TransactionFailed', data } as const]
    const loaded = await log.load(transactionAggregate, id)
    const made = decideOn({ ...transactionAggregate, decide }, loaded, REQUEST, { metadata: METADATA, now: NOW })
    await log.append({ decisions: made === null ? [] : [made] })
  }
  const sizes: number[] = []
  for (let after = LOG_START; ; ) {
    const rows = await readLogRows(pool, after, 5_000)
    const last = rows.at(-1)
    if (last === undefined) break
    sizes.push(rows.length)
    after = last.place
  }
  const { rows } = await pool.query('SELECT count(*)::integer AS events FROM events')
  t.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    rows[0].events,
  )
  t.ok(Math.max(...sizes.slice(1)) < COUNT, `pages of ${sizes.join(', ')} events`)
  const settings = { known: null, onBad: ({ problem }: { readonly problem: string }) => t.fail(problem) }
  t.equal((await growTree(pool, settings)).size, rows[0].events)
  await log.append({ decisions: [] })
  t.equal((await growTree(pool, settings)).size, rows[0].events, 'the last tile is compared page by page')
})
