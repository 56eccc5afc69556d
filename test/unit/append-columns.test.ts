/**
 * The columns that each event type is declared to change: all that its projection changes, and no others. The database
 * refuses an append that changes another column.
 */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { WHOLE_ROW } from '../../src/core/declaration.ts'
import type { Event } from '../../src/core/messages.ts'
import { STREAMS } from '../../src/declarations.ts'
import { type Aggregate, upcast } from '../../src/event-log/aggregate.ts'
import { changedColumns } from '../../src/event-log/table-rows.ts'

type Row = Readonly<Record<string, unknown>>
type Recorded = { readonly stream: string; readonly event: Event }

const WALKS = 300
/** Times as many, until chance has led to all that is declared. */
const ROUNDS = 20
const LONGEST = 24
const SEED = Number(process.env.COLUMNS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const AGGREGATES = ALL_AGGREGATES as unknown as readonly Aggregate<unknown, unknown, Event>[]
const LOG = new URL('../golden/log/log.jsonl', import.meta.url)
const PAGE = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')

const KEYS = new Map(
  [...PAGE.matchAll(/^model (\w+) \{\n([\s\S]*?)^\}/gm)].map(([, table = '', fields = '']) => {
    const [, several] = /@@id\(\[(.*?)\]/.exec(fields) ?? []
    return [table, several?.split(', ') ?? [/^ {2}(\w+) .*@id/m.exec(fields)?.[1] ?? '']] as const
  }),
)

/** The same numbers for the same seed (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const pick = createRandom(SEED)

/** The events of the golden log that belong to a category, upcast. */
function recordedOf({ category, schemas }: Aggregate<unknown, unknown, Event>): readonly Recorded[] {
  return readFileSync(LOG, 'utf8')
    .split('\n')
    .slice(1, -2)
    .flatMap((line) => {
      const { stream_id: stream, type, schema_version: version, data } = JSON.parse(line)
      if (!stream.startsWith(`${category}-`)) return []
      return [{ stream, event: upcast<Event>(schemas as never, type, version, data) }]
    })
}

/** Members of event data that golden events all have alike. */
const VARIED: Readonly<Record<string, readonly string[]>> = {
  ApiKeyChanged: ['label'],
  AssetRegistered: ['symbol', 'name', 'decimals'],
  BalanceChanged: ['blockHash', 'balance'],
  BalanceReorged: ['blockHash', 'balance'],
  PolicyDrafted: ['draftedBy'],
  PolicyPublished: ['forced', 'previousHash'],
  TransferObserved: [
    'logIndex',
    'counterparty',
    'transactionId',
    'assetId',
    'symbol',
    'decimals',
    'contract',
    'amount',
    'blockHash',
  ],
  VoucherRedemptionRequested: ['recipient'],
  WebhookChanged: ['url', 'description'],
  WebhookSecretRotated: ['publicKey'],
}

/** With times and other facts of its own, so that what an event changes is seen to change. */
function varied(event: Event, step: number): Event {
  const time = new Date(Date.UTC(2027, 0, 1) + step * 60_000).toISOString()
  const changed = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => changed(item, ''))
    if (value !== null && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member, name)]))
    if (VARIED[event.type]?.includes(key)) return String(step)
    return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? time : value
  }
  const data = changed(event.data, '') as Row
  return { ...event, data: event.type === 'TransactionMined' ? { ...data, moved: BigInt(step) } : data }
}

/** Openings that a stream can have again. */
function isRepeated(category: string, type: string): boolean {
  return Object.values(STREAMS[category]?.rows ?? {}).some(
    (rule) => typeof rule === 'object' && 'of' in rule && (rule.changes[type]?.length ?? 0) > 1,
  )
}

/** Whether a version of a policy comes in its turn: their numbers count up, and one that has ended never comes again. */
function isInTurn(state: unknown, { type, data }: Event): boolean {
  const { version } = data as { version?: number }
  if (version === undefined) return true
  const { newestVersion, shadow } = state as { newestVersion: number; shadow: { version: number } | null }
  if (version > newestVersion) return type === 'PolicyShadowed' || type === 'PolicyPublished'
  return type !== 'PolicyShadowed' && shadow?.version === version
}

type Seen = Map<string, Set<string>>

/** Adds what each event type changed, by `table`; `*` where it wrote a row that was not there. */
function observe(aggregate: Aggregate<unknown, unknown, Event>, seen: Seen): void {
  const { category, initialState, evolve, project, rowKey } = aggregate
  const events = recordedOf(aggregate)
  const streams = [...new Set(events.map(({ stream }) => stream))]
  const { steps } = STREAMS[category] ?? {}
  const note = (type: string, table: string, columns: readonly string[]) => {
    const known = seen.get(`${type} ${table}`) ?? new Set()
    seen.set(`${type} ${table}`, known)
    for (const column of columns) known.add(column)
  }
  const play = (stream: string, history: readonly Event[], isLegal: (state: unknown, event: Event) => boolean) => {
    const context = { id: stream.slice(category.length + 1), tenantId: 'acme' }
    const rows = new Map<string, Row>()
    let state = initialState
    let version = 0
    for (const event of history) {
      if (version > 0 && !isLegal(state, event)) continue
      version += 1
      const after = evolve(state, event)
      const changes = project(state, after, {
        ...context,
        version,
        recordedAt: new Date(version * 1_000).toISOString(),
      })
      for (const { table, row } of changes.rows as readonly { table: string; row: Row }[]) {
        const key = `${table} ${(KEYS.get(table) ?? []).map((column) => String(row[column])).join(' ')}`
        const before = rows.get(key)
        rows.set(key, row)
        if (before === undefined) note(event.type, table, ['*'])
        else if (rowKey !== undefined) {
          const { after_version: _, [rowKey]: __, ...changed } = changedColumns(rowKey, before, version, row)
          note(event.type, table, Object.keys(changed))
        } else
          note(
            event.type,
            table,
            Object.keys(row).filter((column) => !isDeepStrictEqual(row[column], before[column])),
          )
      }
      state = after
    }
  }
  for (const stream of streams)
    play(
      stream,
      events.filter((one) => one.stream === stream).map(({ event }) => event),
      () => true,
    )
  const first = events.filter((one, index) => events.findIndex(({ stream }) => stream === one.stream) === index)
  const openings = new Set(first.map(({ event }) => event.type))
  const pool = events.map(({ event }) => event).filter(({ type }) => !openings.has(type) || isRepeated(category, type))
  const kinds = pool.filter(({ type }, index) => pool.findIndex((one) => one.type === type) === index)
  // Each type after each other, which chance could miss, and then longer histories.
  const pairs = kinds.flatMap((one) => kinds.map((next) => [one, next]))
  const longer = Array.from({ length: WALKS }, () => Array.from({ length: LONGEST }, () => pool[pick(pool.length)]))
  for (const [walk, later] of [...pairs, ...longer].entries()) {
    const start = first[walk % first.length]
    if (start === undefined) break
    play(
      start.stream,
      [start.event, ...later.map((event) => event ?? start.event)]
        .map((event) => (event.type === start.event.type ? start.event : event))
        .map(varied),
      (state, event) => {
        if (category === 'policy') return isInTurn(state, event)
        const allowed = steps?.[event.type]?.from
        return allowed === undefined || allowed.includes((state as { readonly state: string }).state)
      },
    )
  }
}

/** Whether each type that was seen has changed all that it is declared to change. */
function isComplete(category: string, seen: Seen): boolean {
  return [...seen].every(([key, columns]) => {
    const [type = '', table = ''] = key.split(' ')
    const rule = STREAMS[category]?.rows[table]
    if (typeof rule !== 'object' || !('of' in rule) || isDeepStrictEqual(rule.changes[type], WHOLE_ROW)) return true
    return rule.changes[type]?.every((column) => columns.has(column)) ?? true
  })
}

t.test(`each event type declares the columns that it changes, and no others (COLUMNS_SEED=${SEED})`, (t) => {
  for (const aggregate of AGGREGATES) {
    const seen: Seen = new Map()
    for (let round = 0; round === 0 || (round < ROUNDS && !isComplete(aggregate.category, seen)); round += 1)
      observe(aggregate, seen)
    for (const [key, columns] of seen) {
      const [type = '', table = ''] = key.split(' ')
      const rule = STREAMS[aggregate.category]?.rows[table]
      if (typeof rule !== 'object' || !('of' in rule)) continue
      const found = [...columns].filter((column) => column !== 'version').sort()
      // What can only be written for the first time has another key each time.
      const isNew = isDeepStrictEqual(rule.changes[type], WHOLE_ROW) && columns.has('*')
      t.strictSame(rule.changes[type]?.toSorted(), isNew ? ['*'] : found, `${aggregate.category} ${key}`)
    }
  }
  t.end()
})
