/** What the statements about the keys of one tenant read, however many keys there are. */
import t from 'tap'
import { listApiKeys } from '../../src/access/read-api-keys.ts'
import { usageCounts } from '../../src/compose/capabilities.ts'
import { countUsage } from '../../src/quotas/count-usage.ts'
import { withLog } from '../support/log.ts'
import { insertApiKeys } from '../support/many-rows.ts'
import { mostRead, noting } from '../support/plans.ts'

const COUNT = 20_000
const PAGE = 100
const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const

t.test('a page of keys reads no more than it shows, and the count of live ones no others', async (t) => {
  const { pool } = await withLog(t)
  await insertApiKeys(pool, { count: COUNT, tenant: OWNER.tenantId })
  await pool.query("UPDATE api_keys SET status = 'revoked' WHERE key_id > 'key_0000201'")
  await pool.query(`INSERT INTO api_key_uses SELECT key_id, now() FROM api_keys; ANALYZE`)
  const { spy, noted } = noting(pool)
  const ctx = { pool: spy, clock: Date.now }
  const idsOf = async (filter: object) =>
    (await listApiKeys(ctx, OWNER, { limit: PAGE + 1, ...filter })).map(({ key_id }) => key_id)
  const id = (n: number) => `key_${String(n).padStart(7, '0')}`
  const page = (from: number) => Array.from({ length: PAGE + 1 }, (_, n) => id(from - n))
  const made = { issuedBy: id(1) }
  t.strictSame(await idsOf({}), page(COUNT))
  t.strictSame(await idsOf({ before: id(300) }), page(299), 'a page near the end')
  t.strictSame(await idsOf(made), page(COUNT))
  t.strictSame(await idsOf({ ...made, before: id(300) }), page(299))
  t.strictSame(await idsOf({ ...made, before: id(2) }), [], 'the first was made by nobody')
  t.equal(await countUsage({ pool: spy, countsOf: usageCounts }, 'acme', 'api_keys'), 101)
  t.equal(noted.size, 5)
  await pool.query('SET plan_cache_mode = force_generic_plan')
  for (const [name, { text, values }] of noted) {
    const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    const read = mostRead(rows[0]['QUERY PLAN'][0].Plan)
    t.ok(read <= PAGE + 1, `${name}: ${read} rows`)
  }
})
