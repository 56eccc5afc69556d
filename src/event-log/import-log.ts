/**
 * Imports a full export into an empty database with every read model, in one transaction: all of it or nothing.
 *
 * Invariant: the reading order is that of the exported log, and later appends come after it. Transaction ids belong to
 * one database cluster and may still be assigned in another, so they are replaced by the smallest numbers that keep the
 * order. Positions, versions and hashes do not change.
 */
import { createHash } from 'node:crypto'
import type { Client, Pool } from 'pg'
import { Conflict } from '../core/errors.ts'
import type { ReadModel } from '../core/registry.ts'
import { BrokenChain } from './broken-chain.ts'
import { isRefusedContent } from './database-errors.ts'
import { BadExport, CARRIED_TABLES, type ExportedEvent, type ExportedRow } from './export-format.ts'
import { createFold, type LogContents, readModelNames } from './fold.ts'
import { passIds } from './pass-ids.ts'
import { judgeGaps, MOST_LEFT_OUT, type PositionGaps } from './position-gaps.ts'
import { type ExportLine, readExport } from './read-export.ts'
import { readStreams } from './read-streams.ts'
import { foldInto, namesOf } from './replay.ts'
import { requireOwner, withSessions } from './session.ts'
import { readSetAside } from './set-aside.ts'
import { createShadow, nameIn } from './shadow.ts'
import { liveSchema, readPrimaryKeys } from './table-shape.ts'

const CHUNK_CHARACTERS = 1_000_000

export type ImportEvidence = {
  /** Called with each event in reading order. */
  readonly take: (event: ExportedEvent) => void
  /** Called after the last one. @throws BadExport when the events contradict the evidence */
  readonly judge: () => void
}

export type Imported = {
  readonly events: number
  readonly streams: number
  readonly rows: Readonly<Partial<Record<ReadModel, number>>>
  /** Rows of `CARRIED_TABLES`. No event and no checkpoint has their content. */
  readonly carried: readonly ExportedRow[]
  readonly gaps: PositionGaps
}

/**
 * @param lines of the file, without their line feeds
 * @throws Conflict `owner_required`, `log_not_empty`; BadExport; BrokenChain for an event that cannot be
 *   read and was not set aside. In these cases nothing changes.
 */
export async function importLog(
  pool: Pool,
  contents: LogContents,
  lines: AsyncIterable<string>,
  settings: {
    /** Also check every stream's hash chain, not only the checksum of the file. */
    readonly verify: boolean
    /** Evidence that the log is checked against before anything is committed. */
    readonly evidence?: ImportEvidence
    /** The positions that one gap may leave out; the default is `MOST_LEFT_OUT`. */
    readonly allowedGap?: number
    readonly onProgress?: (events: number) => void
  },
): Promise<Imported> {
  return withSessions(pool, ['import', 'import-ids'], async (writer, other) => {
    await requireOwner(writer)
    await writer.query('BEGIN')
    await requireEmpty(writer, contents)
    const { events, carried, rowLines, newestId } = await insertLines(writer, lines, settings)
    await writer.query('ANALYZE events')
    const gaps = await judgeGaps(writer, { allowed: settings.allowedGap ?? MOST_LEFT_OUT, rowLines })
    const built = await buildReadModels(writer, contents, settings.verify).catch(
      refusedBy('The log contradicts itself'),
    )
    await writer.query(
      `SELECT setval(pg_get_serial_sequence('events', 'position'), max(position)) FROM events HAVING max(position) IS NOT NULL`,
    )
    await requireAlone(writer, events)
    await passIds(other, BigInt(newestId))
    await writer.query('SET LOCAL synchronous_commit TO DEFAULT; SELECT be_durable()')
    await writer.query('COMMIT')
    return { events, ...built, carried, gaps }
  })
}

async function requireEmpty(writer: Client, contents: LogContents): Promise<void> {
  for (const table of ['events', ...readModelNames(contents), ...CARRIED_TABLES]) {
    const { rowCount } = await writer.query(`SELECT FROM ${table} LIMIT 1`)
    if (rowCount === 0) continue
    const message = `The table ${table} is not empty: import into a new database, after npm run migrate and before any process is started.`
    throw new Conflict('log_not_empty', message)
  }
}

/** PostgreSQL refuses a value, breaks a constraint or reaches a limit: one line says which, in place of a stack. */
function refusedBy(what: string) {
  return (error: unknown): never => {
    if (!isRefusedContent(error)) throw error
    throw new BadExport(`${what}: the database refuses it (${(error as Error).message}). Nothing was imported.`)
  }
}

/** A service that was started too early may have appended in the meantime. */
async function requireAlone(writer: Client, imported: number): Promise<void> {
  const { rows } = await writer.query<{ n: string }>('SELECT count(*) AS n FROM events')
  if (Number(rows[0]?.n) === imported) return
  throw new Conflict(
    'log_not_empty',
    'Another process wrote to the event log during the import: stop all processes on this database, and import into a new database.',
  )
}

type Inserted = Pick<Imported, 'events' | 'carried'> & {
  /** The lines of `carried`. */
  readonly rowLines: readonly number[]
  readonly newestId: number
}

async function insertLines(
  writer: Client,
  lines: AsyncIterable<string>,
  { onProgress, evidence }: Pick<Parameters<typeof importLog>[3], 'onProgress' | 'evidence'>,
): Promise<Inserted> {
  const order = createOrder()
  let chunk: PlacedEvent[] = []
  let characters = 0
  let events = 0
  const carried: ExportedRow[] = []
  const rowLines: number[] = []
  const flush = async () => {
    if (chunk.length === 0) return
    await insertEvents(writer, chunk)
    chunk = []
    characters = 0
    onProgress?.(events)
  }
  const take = async (line: ExportLine) => {
    if (line.kind === 'row') {
      const { table, row } = line.value
      await writer
        .query(`INSERT INTO ${table} SELECT * FROM json_populate_record(NULL::${table}, $1::json)`, [
          JSON.stringify(row),
        ])
        .catch(refusedBy(`Line ${line.number}`))
      carried.push(line.value)
      rowLines.push(line.number)
      return
    }
    evidence?.take(line.value)
    // The line is already an object: the new transaction id is prepended.
    const json = `{"imported_id":${order.idOf(line.value, line.number)},${line.text.slice(1)}`
    chunk.push({ json, number: line.number })
    characters += line.text.length
    events += 1
    if (characters >= CHUNK_CHARACTERS) await flush()
  }
  await readExport(lines, createHash('sha256'), take)
  evidence?.judge()
  await flush()
  return { events, carried, rowLines, newestId: order.newest() }
}

type PlacedEvent = { readonly json: string; readonly number: number }

/** Inserts them with one statement. What the database refuses is found by inserting them one by one. */
async function insertEvents(writer: Client, events: readonly PlacedEvent[]): Promise<void> {
  await writer.query('SAVEPOINT chunk')
  try {
    await writer.query(INSERT_EVENTS, [`[${events.map(({ json }) => json).join(',')}]`])
  } catch (error) {
    if (!isRefusedContent(error)) throw error
    await writer.query('ROLLBACK TO SAVEPOINT chunk')
    for (const { json, number } of events)
      await writer.query(INSERT_EVENTS, [`[${json}]`]).catch(refusedBy(`Line ${number}`))
    throw error
  }
  await writer.query('RELEASE SAVEPOINT chunk')
}

const INSERT_EVENTS = `INSERT INTO events (position, transaction_id, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
  OVERRIDING SYSTEM VALUE
  SELECT x.position, x.imported_id::xid8, x.stream_id, x.stream_version, x.type, x.schema_version, x.data, x.metadata, x.recorded_at, decode(x.hash, 'hex')
    FROM json_to_recordset($1::json) AS x(imported_id text, position bigint, stream_id text, stream_version integer, type text,
      schema_version integer, data json, metadata json, recorded_at timestamptz, hash text)`

/**
 * Positions order the events of one transaction id: a new id is needed only where the position decreases in reading
 * order.
 */
function createOrder() {
  let id = 1
  let last: { readonly transactionId: bigint; readonly position: bigint } | null = null
  return {
    idOf(event: ExportedEvent, number: number): number {
      const transactionId = BigInt(event.transaction_id)
      const position = BigInt(event.position)
      const follows =
        last === null ||
        transactionId > last.transactionId ||
        (transactionId === last.transactionId && position > last.position)
      if (!follows)
        throw new BadExport(
          `Line ${number}: event ${position} is out of order: an export is in reading order. Export the log again.`,
        )
      if (last !== null && position < last.position) id += 1
      last = { transactionId, position }
      return id
    },
    newest: () => id,
  }
}

async function buildReadModels(
  writer: Client,
  contents: LogContents,
  verify: boolean,
): Promise<Pick<Imported, 'streams' | 'rows'>> {
  const live = await liveSchema(writer)
  const primaryKeys = await readPrimaryKeys(writer, live)
  const tables = readModelNames(contents)
  const { aggregates, readModels } = contents
  const shadow = await createShadow({ writer, live, schema: 'pg_temp', tables, readModels, primaryKeys })
  const setAside = await readSetAside(writer)
  const fold = createFold({ aggregates, primaryKeys: namesOf(primaryKeys), setAside, hashes: verify })
  const { streams, held } = await foldInto(shadow, readStreams(writer, {}), fold, () => undefined)
  const [first] = held
  if (first !== undefined) throw new BrokenChain(first.reason)
  await shadow.fill()
  const rows: Partial<Record<ReadModel, number>> = {}
  for (const table of tables) {
    const { rowCount } = await writer.query(
      `INSERT INTO ${nameIn(live, table)} SELECT * FROM ${nameIn('pg_temp', table)}`,
    )
    rows[table] = rowCount ?? 0
    await writer.query(`ANALYZE ${nameIn(live, table)}`)
  }
  for (const statement of contents.afterImport) await writer.query(statement((table) => nameIn(live, table)))
  return { streams, rows }
}
