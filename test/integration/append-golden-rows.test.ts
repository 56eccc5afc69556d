/** The golden log, appended by processes with their database roles: each event is accepted with what follows from it. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import type { Event, Metadata } from '../../src/core/messages.ts'
import { type Aggregate, type Decision, upcast } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { changedColumns } from '../../src/event-log/table-rows.ts'
import { loginAs } from '../support/database-login.ts'
import { withLog } from '../support/log.ts'
import { seeBlock } from '../support/spending.ts'

type State = { readonly state: unknown; readonly version: number; readonly hash: string }

type Line = {
  readonly stream_id: string
  readonly stream_version: number
  readonly type: string
  readonly schema_version: number
  readonly data: unknown
  readonly metadata: Metadata
  readonly recorded_at: string
  readonly hash: string
  readonly transaction_id: string
}

const LINES: readonly Line[] = readFileSync(new URL('../golden/log/log.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .slice(1, -2)
  .map((line) => JSON.parse(line))

t.test('every golden event is accepted from its process with what follows from it', async (t: Test) => {
  const { pool, url } = await withLog(t)
  const everybody = await loginAs(t, { pool, url }, ...DATABASE_ROLES)
  const aggregates = new Map(
    (ALL_AGGREGATES as unknown as Aggregate<unknown, unknown, Event>[]).map((one) => [one.category, one]),
  )
  // What counts towards limits needs a chain that is followed.
  const chains = new Set(LINES.flatMap(({ data }) => (data as { readonly chainId?: number }).chainId ?? []))
  for (const chainId of chains) await seeBlock(pool, '2027-01-01T00:00:00.000Z', chainId)
  const states = new Map<string, State>()
  for (const transactionId of [...new Set(LINES.map((line) => line.transaction_id))]) {
    const lines = LINES.filter((line) => line.transaction_id === transactionId)
    const decisions: Decision[] = []
    for (const streamId of [...new Set(lines.map((line) => line.stream_id))]) {
      const own = lines.filter((line) => line.stream_id === streamId)
      decisions.push(decisionOf(streamId, own, aggregates, states))
    }
    const deadlines = lines.flatMap(({ type, stream_id }) =>
      type === 'TransactionSigned' ? [stream_id.slice('transaction-'.length)] : [],
    )
    // Golden deadlines may have passed since.
    await pool.query("UPDATE transactions SET valid_until = 'infinity' WHERE transaction_id = ANY ($1)", [deadlines])
    const [guards, events, all] = encodeBatch([{ decisions, guards: { deadlines } }]).map((text) => JSON.parse(text))
    const { nft_metadata: _, ...rows } = all // Golden content has made-up names.
    for (const hold of guards.holds ?? [])
      await pool.query(
        `INSERT INTO balances VALUES ($1::jsonb->>'wallet_id', $1::jsonb->>'asset_id', 'acme', 10::numeric ^ 40, 1, '0x', now())
           ON CONFLICT (wallet_id, asset_id) DO UPDATE SET balance = excluded.balance`,
        [hold],
      )
    const name = lines.map(({ type, stream_id }) => `${type} ${stream_id}`).join(', ')
    const values = [guards, events, rows].map((value) => JSON.stringify(value))
    await t.resolves(everybody.query('SELECT append_commits($1, $2, $3)', values), name)
  }
})

function decisionOf(
  streamId: string,
  lines: readonly Line[],
  aggregates: ReadonlyMap<string, Aggregate<unknown, unknown, Event>>,
  states: Map<string, State>,
): Decision {
  const [category = ''] = streamId.split('-')
  const aggregate = aggregates.get(category)
  if (aggregate === undefined) throw new Error(`no aggregate for ${streamId}`)
  const id = streamId.slice(category.length + 1)
  const { initialState, rowKey, project } = aggregate
  const before = states.get(streamId) ?? { state: initialState, version: 0, hash: '' }
  const state = lines.reduce(
    (state, { type, schema_version, data }) =>
      aggregate.evolve(state, upcast(aggregate.schemas, type, schema_version, data)),
    before.state,
  )
  const last = lines.at(-1)
  if (last === undefined) throw new Error('an append has an event')
  const context = { id, tenantId: last.metadata.tenantId, version: last.stream_version, recordedAt: last.recorded_at }
  const { rows, holds } = project(before.state, state, context)
  const old = project(initialState, before.state, { ...context, version: before.version, recordedAt: '' }).rows[0]?.row
  const changed =
    rowKey === undefined || old === undefined
      ? rows
      : rows.map((item) => ({ ...item, changed: changedColumns(rowKey, old, before.version, item.row) }))
  const after = { id, state, version: last.stream_version, hash: last.hash }
  states.set(streamId, after)
  const events = lines.map(({ transaction_id: _, ...line }) => ({
    streamId,
    streamVersion: line.stream_version,
    type: line.type,
    canonical: JSON.stringify(line),
    hash: line.hash,
  }))
  return { previous: before.hash, events, readModels: { rows: changed, holds }, after, hasEnded: false }
}
