/**
 * Valid appends of every event type: the golden log is written again, event by event, each in the newest version and
 * with its rows. Before an event is appended, other logins can try to append it: the database then has the state that
 * the event follows.
 */
import { readFileSync } from 'node:fs'
import pg, { type Pool } from 'pg'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import type { Event, Metadata } from '../../src/core/messages.ts'
import { STREAMS } from '../../src/declarations.ts'
import { type Aggregate, type Change, change, type Loaded, unopened, upcast } from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/commit.ts'

type AnyStream = Aggregate<unknown, object, Event>
type GoldenEvent = {
  readonly stream_id: string
  readonly type: string
  readonly schema_version: number
  readonly data: Record<string, unknown>
  readonly metadata: Metadata
  readonly recorded_at: string
}

const LOG = new URL('../golden/log/log.jsonl', import.meta.url)
const AGGREGATES = new Map(ALL_AGGREGATES.map((aggregate) => [aggregate.category, aggregate as unknown as AnyStream]))
/** More than any transaction of the golden log holds, which was written without a check of balances. */
const AMPLE = '1'.padEnd(50, '0')

/** Every event type that the declarations name: `<category>:<type>`. */
export const EVENT_NAMES: readonly string[] = Object.entries(STREAMS)
  .flatMap(([category, { events }]) => Object.keys(events).map((type) => `${category}:${type}`))
  .sort()

/**
 * @param owner of the tables, of a database without events
 * @param before called with the append of each event, before the owner appends it
 * @throws Error when the golden log lacks a declared type
 */
export async function writeGoldenLog(
  owner: Pool,
  before: (name: string, statement: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const streams = new Map<string, Loaded<unknown>>()
  const missing = new Set(EVENT_NAMES)
  for (const event of goldenEvents()) {
    const category = event.stream_id.split('-', 1)[0] ?? ''
    const changed = changeOf(event, category, streams)
    await makeRoom(owner, changed)
    const name = `${category}:${event.type}`
    missing.delete(name)
    await before(name, appendStatement(changed))
    await owner.query(appendStatement(changed))
  }
  if (missing.size > 0) throw new Error(`the golden log has no ${[...missing].join(', ')}: run npm run golden-log`)
}

function goldenEvents(): readonly GoldenEvent[] {
  return readFileSync(LOG, 'utf8')
    .split('\n')
    .slice(1, -2)
    .map((line) => JSON.parse(line))
}

function changeOf(event: GoldenEvent, category: string, streams: Map<string, Loaded<unknown>>): Change {
  const aggregate = AGGREGATES.get(category)
  if (aggregate === undefined) throw new Error(`no aggregate has streams ${category}`)
  const id = event.stream_id.slice(category.length + 1)
  const loaded = streams.get(event.stream_id) ?? unopened(aggregate, id)
  const decide = () => [upcast<Event>(aggregate.schemas, event.type, event.schema_version, event.data)]
  const context = { metadata: event.metadata, now: event.recorded_at }
  const changed = change({ ...aggregate, decide }, loaded, {}, context)
  if (changed === null) throw new Error(`${event.type} is no change`)
  streams.set(event.stream_id, changed.after)
  return changed
}

/** A balance for what the change holds. */
async function makeRoom(owner: Pool, { readModels }: Change): Promise<void> {
  for (const { walletId, assetId, mustFit } of readModels.holds) {
    if (!mustFit) continue
    await owner.query(
      `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
       VALUES ($1, $2, 'acme', $3, 0, '0x', now()) ON CONFLICT (wallet_id, asset_id) DO UPDATE SET balance = excluded.balance`,
      [walletId, assetId, AMPLE],
    )
  }
}

/** The statement with which Bursar appends. */
export function appendStatement(...changes: readonly Change[]): string {
  const values = encodeBatch([{ changes }], true)
  return `SELECT append_commits(${values.map((value) => pg.escapeLiteral(value)).join(', ')})`
}
