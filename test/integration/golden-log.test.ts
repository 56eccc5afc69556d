/** The golden log: everything ever written is still read in the same way, and gives the same rows. */
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { ALL_AGGREGATES, LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { LOG_START, readAfter } from '../../src/event-log/subscription.ts'
import { hasNoNonce, hasNonce, IN_FLIGHT, inNoBlock, inUnsettledBlock, UNMINED } from '../../src/transactions/sql.ts'
import { imported, type Models, missingFrom, modelsOf } from '../support/log-file.ts'
import { withDatabase } from '../support/postgres.ts'

const golden = (path: string) => new URL(`../golden/${path}`, import.meta.url)
const LINES = readFileSync(golden('log/log.jsonl'), 'utf8').split('\n').slice(0, -1)
const EVENTS = LINES.slice(1, -1).map((line) => JSON.parse(line))
const MODELS: Models = JSON.parse(readFileSync(golden('log/read-models.json'), 'utf8'))
const ADD = 'add it at the end of test/support/golden-history.ts and run npm run golden-log'

t.test('every known version of every event type is in the golden log', (t: Test) => {
  const held = new Set(EVENTS.map(({ type, schema_version }) => `${type}.v${schema_version}`))
  const files = readdirSync(golden('events')).map((name) => name.replace(/\.json$/, ''))
  const schemas = (
    ALL_AGGREGATES as readonly { readonly schemas: Record<string, { readonly version: number }> }[]
  ).flatMap((aggregate) =>
    Object.entries(aggregate.schemas).flatMap(([type, { version }]) =>
      Array.from({ length: version }, (_, n) => `${type}.v${n + 1}`),
    ),
  )
  t.ok(files.length > 50 && schemas.length > 50)
  t.strictSame(new Set([...files, ...schemas].filter((name) => !held.has(name))), new Set(), ADD)
  t.end()
})

t.test('the golden log gives the recorded rows', async (t: Test) => {
  const { pool } = await withDatabase(t)
  const { events } = await imported(pool, LINES)
  t.equal(events, EVENTS.length)
  const models = await modelsOf(pool)
  t.strictSame(missingFrom(models, MODELS), [])
  for (const [table, rows] of Object.entries(MODELS)) {
    t.ok(Object.keys(rows).length > 0, `${table} has rows: ${ADD}`)
    t.strictSame(Object.keys(models[table] ?? {}).sort(), Object.keys(rows).sort(), `${table} has no other rows`)
  }
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
  const { rows: odd } = await pool.query(
    `SELECT transaction_id FROM transactions WHERE (${inNoBlock('transactions')}) <> (state IN ${UNMINED})
         OR (${hasNoNonce('transactions')}) <> (state = 'requested') OR (${hasNonce('transactions')}) <> (state IN ${IN_FLIGHT})
         OR (${inUnsettledBlock('transactions')}) <> (state = 'mined')`,
  )
  t.strictSame(odd, [], 'the conditions of the partial indexes stand for the states')
  const read = await readAfter(pool, LOG_START, 1_000)
  t.strictSame(
    read.events.map(({ type, streamId }) => `${type} ${streamId}`),
    EVENTS.map(({ type, stream_id }) => `${type} ${stream_id}`),
    'the events are read in the recorded order',
  )
})

t.test('a row that differs is named', (t: Test) => {
  const changed = structuredClone(MODELS) as Record<string, Record<string, Record<string, string | null>>>
  const row = changed.transactions?.tx_5
  if (row) row.amount = '1'
  const { tx_4: _, ...others } = changed.transactions ?? {}
  changed.transactions = others
  const missing = missingFrom(changed, MODELS)
  t.ok(missing.includes('transactions tx_5: amount is 1, not 250000000000000000'))
  t.ok(missing.some((line) => line.startsWith('transactions tx_4: state is undefined')))
  t.end()
})
