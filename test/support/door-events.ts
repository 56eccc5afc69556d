/**
 * Valid appends of every event type: the golden log is written again, event by event, each in the newest version and
 * with its rows. Before an event is appended, other logins can try to append it: the database then has the state that
 * the event follows.
 */
import { readFileSync } from 'node:fs'
import pg, { type Pool } from 'pg'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import type { Event, Metadata } from '../../src/core/messages.ts'
import { STREAMS } from '../../src/declarations.ts'
import {
  type Aggregate,
  type Decision,
  decideOn,
  type Loaded,
  unopened,
  upcast,
} from '../../src/event-log/aggregate.ts'
import { encodeBatch } from '../../src/event-log/append.ts'
import { cidOf } from '../../src/nft/metadata/cid.ts'

type AnyStream = Aggregate<unknown, object, Event>
export type GoldenEvent = {
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

/** Another form of an event, which roles append that may not append the one of the golden log. */
const OTHER_FORMS: Readonly<Record<string, object>> = {
  'mpckey:MpcSharesRefreshRequested': { party: null, reason: 'scheduled' },
}

/** Every event type that the declarations name: `<category>:<type>`. */
export const EVENT_NAMES: readonly string[] = Object.entries(STREAMS)
  .flatMap(([category, { events }]) => Object.keys(events).map((type) => `${category}:${type}`))
  .sort()

/** The streams of a log, as far as they were written. */
export type Streams = Map<string, Loaded<unknown>>

/**
 * @param owner of the tables, of a database without events
 * @param before called with the append of each event, before the owner appends it
 * @throws Error when the golden log lacks a declared type
 */
export async function writeGoldenLog(
  owner: Pool,
  before: (name: string, statement: string) => Promise<void> = async () => undefined,
): Promise<Streams> {
  // No limit counts later than the newest block of its chain.
  await owner.query(
    `INSERT INTO chain_blocks VALUES (1, 1, '0x', '0x', extract(epoch FROM timestamptz '2026-12-03')::bigint)`,
  )
  const streams: Streams = new Map()
  const missing = new Set(EVENT_NAMES)
  for (const event of goldenEvents()) {
    const decision = decisionOf(event, streams)
    await makeRoom(owner, decision)
    const name = `${categoryOf(event)}:${event.type}`
    missing.delete(name)
    const form = OTHER_FORMS[name]
    if (form !== undefined)
      await before(name, appendStatement(decisionOf({ ...event, data: { ...event.data, ...form } }, streams)))
    streams.set(event.stream_id, decision.after)
    await before(name, appendStatement(decision))
    await owner.query(appendStatement(decision))
  }
  if (missing.size > 0) throw new Error(`the golden log has no ${[...missing].join(', ')}: run npm run golden-log`)
  return streams
}

function categoryOf({ stream_id }: GoldenEvent): string {
  return stream_id.split('-', 1)[0] ?? ''
}

export function goldenEvents(): readonly GoldenEvent[] {
  return readFileSync(LOG, 'utf8')
    .split('\n')
    .slice(1, -2)
    .map((line) => JSON.parse(line, withCid))
}

/** Some metadata of the golden log has a name in place of its content id. */
function withCid(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('cid' in value && 'metadata' in value)) return value
  return { ...value, cid: cidOf(Buffer.from(canonicalJson(value.metadata))) }
}

/**
 * The append of an event of the golden log, or of one like it, at the end of its stream.
 *
 * @param schemaVersion of the appended event; by default that of this version of Bursar
 */
export function decisionOf(event: GoldenEvent, streams: Streams, schemaVersion?: number): Decision {
  const category = categoryOf(event)
  const aggregate = AGGREGATES.get(category)
  if (aggregate === undefined) throw new Error(`no aggregate has streams ${category}`)
  const loaded = streams.get(event.stream_id) ?? unopened(aggregate, event.stream_id.slice(category.length + 1))
  const data = upcast<Event>(aggregate.schemas, event.type, event.schema_version, event.data)
  const known = aggregate.schemas[event.type]
  if (known === undefined) throw new Error(`streams ${category} have no ${event.type}`)
  const schemas = { ...aggregate.schemas, [event.type]: { ...known, version: schemaVersion ?? known.version } }
  const context = { metadata: event.metadata, now: event.recorded_at }
  const decision = decideOn({ ...aggregate, schemas, decide: () => [data] }, loaded, {}, context)
  if (decision === null) throw new Error(`${event.type} is no change`)
  return decision
}

/** A balance for what the decision holds. */
export async function makeRoom(owner: Pool, { readModels }: Decision): Promise<void> {
  for (const { walletId, assetId, mustFit } of readModels.holds) {
    if (!mustFit) continue
    await owner.query(
      `INSERT INTO balances (wallet_id, asset_id, tenant_id, balance, block_number, block_hash, updated_at)
       VALUES ($1, $2, 'acme', $3, 0, '0x', now()) ON CONFLICT (wallet_id, asset_id) DO UPDATE SET balance = excluded.balance`,
      [walletId, assetId, AMPLE],
    )
  }
}

/** The arguments of an append, which an attacker can change. */
export type AppendArguments = {
  guards: Record<string, object[]>
  events: Record<string, unknown>[]
  rows: Record<string, object[]>
}

/** The statement with which Bursar appends. @param tamper changes its arguments */
export function appendStatement(decision: Decision, tamper?: (values: AppendArguments) => void): string {
  const [guards, events, rows] = encodeBatch([{ decisions: [decision] }], true)
  if (tamper === undefined) return statementOf([guards, events, rows])
  const values = { guards: JSON.parse(guards), events: JSON.parse(events), rows: JSON.parse(rows) } as AppendArguments
  tamper(values)
  return statementOf([values.guards, values.events, values.rows].map((value) => JSON.stringify(value)))
}

function statementOf(values: readonly string[]): string {
  return `SELECT append_commits(${values.map((value) => pg.escapeLiteral(value)).join(', ')})`
}
