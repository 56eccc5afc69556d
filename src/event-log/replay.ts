/**
 * Folds the log as of one moment into a shadow of every read model, and compares it with the live tables at that
 * moment. Changes nothing: the shadow consists of temporary tables that end with the session. Memory use grows only
 * with the largest stream.
 */
import type { Client, Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { ReadModel } from '../core/registry.ts'
import { compareShadow, type Difference } from './compare-shadow.ts'
import { createFold, type Fold, type Folded, type HeldStream, type LogContents, readModelNames } from './fold.ts'
import {
  beginSnapshot,
  countEvents,
  readStreams,
  type StreamEvent,
  type StreamFilter,
  transactionOf,
} from './read-streams.ts'
import { withSessions } from './session.ts'
import { readSetAside } from './set-aside.ts'
import { createShadow, nameIn, type Shadow } from './shadow.ts'
import { liveSchema, quoted, readPrimaryKeys } from './table-shape.ts'

export type Replayed = {
  readonly events: number
  readonly streams: number
  /** The newest position read; `null` for an empty log. */
  readonly position: string | null
  readonly rows: Readonly<Partial<Record<ReadModel, number>>>
  readonly differences: number
  /** The first streams that end before an event that cannot be read. */
  readonly held: readonly HeldStream[]
  readonly heldStreams: number
}

/**
 * @throws NotFound `unknown_position` or `unknown_stream`
 */
export async function replay(
  pool: Pool,
  contents: LogContents,
  settings: Replaying['settings'] = {},
): Promise<Replayed> {
  return withSessions(pool, ['replay-reader', 'replay-shadow'], (reader, writer) =>
    replayBetween({ reader, writer, contents, settings }),
  )
}

/** Compares the result of folding the log with the live tables at one moment, regardless of later appends. */
export async function compareLive(
  pool: Pool,
  contents: LogContents,
  settings: Pick<Replaying['settings'], 'tables' | 'onProgress'> = {},
): Promise<Omit<Replayed, 'differences'> & { readonly differences: readonly Difference[] }> {
  const differences: Difference[] = []
  const replayed = await replay(pool, contents, { ...settings, onDifference: (found) => differences.push(found) })
  return { ...replayed, differences }
}

type Replaying = {
  readonly reader: Client
  readonly writer: Client
  readonly contents: LogContents
  readonly settings: {
    readonly streamId?: string
    /** Up to the event at this position in reading order, or up to what was recorded by this time. */
    readonly to?: bigint | Date
    /**
     * Called with each difference between live and replayed. Only meaningful for the whole log, or for a stream as of
     * now.
     */
    readonly onDifference?: (difference: Difference) => void
    /** Default: all. */
    readonly tables?: readonly ReadModel[]
    readonly onProgress?: (events: number, total: number) => void
  }
}

async function replayBetween({ reader, writer, contents, settings }: Replaying): Promise<Replayed> {
  const { streamId, to, onDifference, onProgress, tables = readModelNames(contents) } = settings
  const { aggregates, readModels } = contents
  const live = await liveSchema(reader)
  const keyColumns = await readPrimaryKeys(reader, live)
  const shadow = await createShadow({ writer, live, schema: 'pg_temp', tables, readModels, primaryKeys: keyColumns })
  await beginSnapshot(reader, onDifference ? tables.map((table) => nameIn(live, table)) : [])
  const filter: StreamFilter = {
    ...(streamId === undefined ? {} : { streamId }),
    ...(typeof to === 'bigint' ? { upTo: { transactionId: await transactionOf(reader, to), position: to } } : {}),
  }
  const total = await countEvents(reader, filter)
  if (streamId !== undefined && total === 0) throw unknownStream(streamId)
  const fold = createFold({
    aggregates,
    primaryKeys: namesOf(keyColumns),
    setAside: await readSetAside(reader),
    ...(to instanceof Date ? { until: to } : {}),
  })
  const folded = await foldInto(shadow, readStreams(reader, filter), fold, (done) => onProgress?.(done, total))
  await shadow.fill()
  const rows: Partial<Record<ReadModel, number>> = {}
  let differences = 0
  for (const table of tables) {
    const key = keyColumns.get(table) ?? []
    await writer.query(
      `ALTER TABLE ${nameIn('pg_temp', table)} ADD PRIMARY KEY (${key.map(({ name }) => quoted(name)).join(', ')})`,
    )
    const counted = await writer.query<{ n: string }>(`SELECT count(*) AS n FROM ${nameIn('pg_temp', table)}`)
    rows[table] = Number(counted.rows[0]?.n)
    // Holds are the sum over all streams: one stream alone cannot be compared.
    if (!onDifference || (streamId !== undefined && readModels[table] === 'sum')) continue
    await writer.query('BEGIN')
    const sides = {
      live: { session: reader, schema: live },
      shadow: { session: writer, schema: 'pg_temp' },
      ofShadowAlone: streamId !== undefined,
    }
    for await (const found of compareShadow({ table, key, ...sides })) {
      differences += 1
      onDifference(found)
    }
    await writer.query('COMMIT')
  }
  await reader.query('ROLLBACK')
  return { ...folded, position: folded.position?.toString() ?? null, rows, differences }
}

/** Folds the events that are read into a shadow. */
export async function foldInto(
  shadow: Pick<Shadow, 'add'>,
  batches: AsyncIterable<readonly StreamEvent[]>,
  fold: Fold,
  onProgress: (events: number) => void,
): Promise<Folded> {
  let read = 0
  for await (const batch of batches) {
    for (const event of batch) {
      const ended = fold.take(event)
      if (ended !== null) await shadow.add(ended)
    }
    read += batch.length
    onProgress(read)
  }
  const last = fold.end()
  if (last !== null) await shadow.add(last)
  return fold.taken()
}

export function namesOf(keys: Awaited<ReturnType<typeof readPrimaryKeys>>): ReadonlyMap<string, readonly string[]> {
  return new Map([...keys].map(([table, columns]) => [table, columns.map(({ name }) => name)]))
}

function unknownStream(streamId: string): NotFound {
  return new NotFound(
    'stream',
    'unknown_stream',
    `The log has no stream ${streamId} at this position or time. The id of a stream looks like transaction-tx_….`,
  )
}
