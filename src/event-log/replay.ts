/**
 * Folds the log again: every event through its aggregate and its projection, in log order, into a shadow of the read
 * models. What the shadow says must be what the live tables say: every read model is disposable.
 */
import type { Pool } from 'pg'
import type { Event } from '../core/messages.ts'
import { type Aggregate, type ReadModelTable, upcast } from './aggregate.ts'
import { EVENT_COLUMNS, type EventRow } from './rows.ts'
import { LOG_START } from './subscription.ts'

/** Events in one read: a few megabytes. */
const BATCH_SIZE = 5_000

/** The shadow of one table: rows by primary key, joined with a space. */
export type Shadow = ReadonlyMap<
  ReadModelTable | 'wallet_holds',
  ReadonlyMap<string, Readonly<Record<string, unknown>>>
>

/** Any aggregate: the replay hands each its own events. */
export type AnyAggregate = Aggregate<never, never, never>

export type Replayed = { readonly events: number; readonly shadow: Shadow }

/** Columns that make the primary key of each read model. */
const PRIMARY_KEYS: Readonly<Partial<Record<ReadModelTable, readonly string[]>>> = {
  wallets: ['wallet_id'],
  transactions: ['transaction_id'],
  balances: ['wallet_id', 'asset_id'],
  api_keys: ['key_id'],
  assets: ['tenant_id', 'asset_id'],
  nft_metadata: ['cid'],
  nft_collections: ['collection_id'],
  nft_mints: ['mint_id'],
  nft_tokens: ['mint_id', 'token_id'],
  nft_vouchers: ['mint_id'],
  nft_token_updates: ['collection_id', 'token_id', 'sequence'],
  nft_owners: ['chain_id', 'contract', 'token_id', 'owner'],
  nft_transfers: ['transfer_id'],
  nft_transfer_items: ['transfer_id', 'item'],
  mpc_keys: ['key_id'],
  mpc_refreshes: ['refresh_id'],
  signatures: ['signature_id'],
  wallet_exports: ['export_id'],
}

/**
 * Replays the whole log.
 *
 * @param aggregates every aggregate whose streams the log holds
 * @param onProgress told of the number of events after each batch
 * @throws Error for an event of a stream or type that no aggregate knows
 */
export async function replay(
  pool: Pool,
  aggregates: readonly AnyAggregate[],
  onProgress: (events: number) => void = () => undefined,
): Promise<Replayed> {
  const byCategory = new Map(
    aggregates.map((aggregate) => [aggregate.category, aggregate as unknown as Aggregate<unknown, unknown, Event>]),
  )
  const fold = createFold(byCategory)
  let events = 0
  for await (const rows of readLog(pool)) {
    for (const row of rows) fold.take(row)
    events += rows.length
    onProgress(events)
  }
  return { events, shadow: fold.shadow }
}

/** The log in reading order, a batch at a time. Nobody else may be waited for: rows of running transactions are left out. */
export async function* readLog(pool: Pool): AsyncGenerator<readonly EventRow[]> {
  let after = { transactionId: LOG_START.transactionId.toString(), position: LOG_START.position.toString() }
  for (;;) {
    const { rows } = await pool.query<EventRow>({
      name: 'replay_log',
      text: `SELECT ${EVENT_COLUMNS} FROM events
              WHERE (transaction_id, position) > ($1::xid8, $2::bigint) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
              ORDER BY events.transaction_id, position LIMIT $3`,
      values: [after.transactionId, after.position, BATCH_SIZE],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = { transactionId: last.transaction_id, position: last.position }
  }
}

function createFold(byCategory: ReadonlyMap<string, Aggregate<unknown, unknown, Event>>) {
  const states = new Map<string, unknown>()
  const shadow = new Map<ReadModelTable | 'wallet_holds', Map<string, Record<string, unknown>>>()
  const tableOf = (table: ReadModelTable | 'wallet_holds') => {
    const rows = shadow.get(table) ?? new Map<string, Record<string, unknown>>()
    shadow.set(table, rows)
    return rows
  }

  function take(row: EventRow): void {
    const dash = row.stream_id.indexOf('-')
    const aggregate = byCategory.get(row.stream_id.slice(0, dash))
    if (aggregate === undefined) throw new Error(`no aggregate knows the stream ${row.stream_id}`)
    const before = states.get(row.stream_id) ?? aggregate.initialState
    const after = aggregate.evolve(before, upcast<Event>(aggregate.schemas, row.type, row.schema_version, row.data))
    states.set(row.stream_id, after)
    const { rows, holds } = aggregate.project(before, after, {
      id: row.stream_id.slice(dash + 1),
      tenantId: row.metadata.tenantId,
      version: row.stream_version,
      recordedAt: row.recorded_at.toISOString(),
    })
    for (const { table, row: content } of rows) {
      const key = PRIMARY_KEYS[table]?.map((column) => String(content[column])).join(' ')
      if (key !== undefined) tableOf(table).set(key, content)
    }
    for (const { walletId, assetId, delta } of holds) addHold(tableOf('wallet_holds'), walletId, assetId, delta)
  }

  return { take, shadow: shadow as Shadow }
}

function addHold(rows: Map<string, Record<string, unknown>>, walletId: string, assetId: string, delta: bigint): void {
  const key = `${walletId} ${assetId}`
  const held = BigInt((rows.get(key)?.held as string | undefined) ?? 0)
  rows.set(key, { wallet_id: walletId, asset_id: assetId, held: (held + delta).toString() })
}
