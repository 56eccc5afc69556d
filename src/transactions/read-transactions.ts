/** Reads transactions for their owner. Statuses are read by primary key: one at once, or all that wait in one statement. */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { NotFound, PermissionDenied } from '../core/errors.ts'
import type { SubjectType } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import { batchLookups } from '../event-log/batch-lookups.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { WaitUntil } from '../event-log/wait-until.ts'
import { createWaitUntil } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import type { LaterEvent } from './events.ts'
import { partNames } from './kinds.ts'
import { isWaiting, MINED_OR_FINAL } from './sql.ts'
import { AMOUNT_COLUMNS, VIEW_COLUMNS, type ViewRow } from './transaction-row.ts'
import { type TransactionView, toAccepted, toAcceptedBatch, toView, type WaitingRow } from './view.ts'

export type TransactionFilter = {
  readonly type?: string
  readonly status?: string
  readonly state?: string
  readonly asset?: string
  readonly referenceId?: string
  /** Rows older than this id. */
  readonly before?: string
  /** Requested by then. */
  readonly requestedBy?: Date
  readonly limit: number
}

export type TransactionReads = {
  /**
   * @throws NotFound when the tenant's wallet has no such transaction; PermissionDenied `environment_mismatch` when it
   *   is the tenant's, in the other environment
   */
  readonly read: (owner: Owner, walletId: string, transactionId: string) => Promise<TransactionView>
  /** The resource of an idempotency key, without naming the wallet. @throws NotFound */
  readonly readById: (tenantId: string, transactionId: string) => Promise<TransactionView>
  /** The transactions of a batch, in the order of its items. */
  readonly readBatch: (tenantId: string, batchId: string) => Promise<TransactionView[]>
  /** Newest first. */
  readonly list: (tenantId: string, walletId: string, filter: TransactionFilter) => Promise<TransactionView[]>
  /** Resolves with the transaction, without details, once it is signed or has failed before; with null after a timeout. */
  readonly untilSigned: WaitUntil<TransactionView>
  /** Resolves once the transaction is mined or has ended, or with null after a timeout. */
  readonly untilMined: WaitUntil<true>
}

type Found = ViewRow & { readonly head: number | null; readonly unsimulated: WaitingRow | null }
type FoundRow = { readonly found: Found }

/** Each row as one JSON value: node-postgres needs twice the CPU for the columns of so wide a row. */
const select =
  () => `SELECT to_json(found) AS found FROM transactions t LEFT JOIN chain_cursors c ON c.chain_id = t.chain_id
  CROSS JOIN LATERAL (SELECT ${columnsOf('t')}, c.number AS head, CASE WHEN ${isWaiting('t')} THEN
    (SELECT json_build_object('reason', u.reason, 'since', u.since) FROM unsimulated_transactions u
      WHERE u.transaction_id = t.transaction_id AND u.seen_at > now() - interval '15 minutes') END AS unsimulated) AS found`

/** Events after which a transaction is no longer `requested`. */
const LEAVE_REQUESTED: ReadonlySet<string> = new Set<LaterEvent['type']>([
  'TransactionSigned',
  'TransactionMined',
  'TransactionFailed',
  'TransactionCancelled',
])
/** Events after which it is in a block, or has ended. */
const END_OR_MINED: ReadonlySet<string> = new Set<LaterEvent['type']>([
  'TransactionMined',
  'TransactionConfirmed',
  'TransactionReverted',
  'TransactionFailed',
  'TransactionCancelled',
])

/** One transaction can have events of 100 kB. */
const MAX_TRANSACTIONS = 64

export function createTransactionReads(settings: {
  readonly pool: Pool
  readonly wakeUps: WakeUps
  readonly confirmationsOf: (chainId: number) => number
}): TransactionReads {
  const { pool, wakeUps, confirmationsOf } = settings
  const view = (row: Found, isDetailed: boolean) =>
    toView(row, { head: row.head, required: confirmationsOf(row.chain_id), waiting: row.unsimulated }, isDetailed)
  const find = batchLookups((ids) => readEach(pool, ids), MAX_TRANSACTIONS)

  async function readById(tenantId: string, transactionId: string): Promise<Found> {
    const row = await find(transactionId)
    if (row === undefined || row.tenant_id !== tenantId) throw new NotFound('transaction')
    return row
  }

  return {
    async read({ tenantId, environment }, walletId, transactionId) {
      const row = await readById(tenantId, transactionId)
      if (row.wallet_id !== walletId) throw new NotFound('transaction')
      if (row.environment !== environment) {
        const message = `This API key is for ${environment} and the transaction is on ${row.environment}: use a key for ${row.environment}.`
        throw new PermissionDenied('environment_mismatch', message)
      }
      return view(row, true)
    },
    readById: async (tenantId, transactionId) => view(await readById(tenantId, transactionId), true),
    async readBatch(tenantId, batchId) {
      const { rows } = await pool.query<FoundRow>({
        name: 'read_transfer_batch',
        text: `${select()} WHERE t.subject_type = 'transfer_batch' AND t.subject_id = $1 AND t.tenant_id = $2
               ORDER BY t.transaction_id`,
        values: [batchId, tenantId],
      })
      return rows.map(({ found }) => view(found, false))
    },
    async list(tenantId, walletId, filter) {
      const { rows } = await pool.query<FoundRow>({
        name: 'list_transactions',
        text: `${select()} WHERE t.wallet_id = $1 AND t.tenant_id = $2
                 AND ($3::text IS NULL OR t.transaction_id < $3) AND ($4::text IS NULL OR t.type = $4)
                 AND ($5::text IS NULL OR t.status = $5) AND ($6::text IS NULL OR t.state = $6)
                 AND ($7::text IS NULL OR upper(t.asset_symbol) = upper($7) OR lower(t.asset_contract) = lower($7))
                 AND ($8::text IS NULL OR t.reference_id = $8) AND ($9::timestamptz IS NULL OR t.created_at <= $9)
               ORDER BY t.transaction_id DESC LIMIT $10`,
        values: [
          walletId,
          tenantId,
          filter.before ?? null,
          filter.type ?? null,
          filter.status ?? null,
          filter.state ?? null,
          filter.asset ?? null,
          filter.referenceId ?? null,
          filter.requestedBy ?? null,
          filter.limit,
        ],
      })
      return rows.map(({ found }) => view(found, false))
    },
    untilSigned: createWaitUntil({
      wakeUps,
      types: LEAVE_REQUESTED,
      looksAtOnce: false,
      async find(ids) {
        const { rows } = await pool.query<FoundRow>({
          name: 'signed_transactions',
          text: `SELECT signed.found FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
                   (${select()} WHERE t.transaction_id = wanted.id AND t.state <> 'requested' OFFSET 0) AS signed`,
          values: [ids],
        })
        return new Map(rows.map(({ found }) => [found.transaction_id, view(found, false)]))
      },
    }),
    untilMined: createWaitUntil({
      wakeUps,
      types: END_OR_MINED,
      async find(ids) {
        const { rows } = await pool.query<{ id: string }>({
          name: 'mined_transactions',
          text: `SELECT wanted.id FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
                   (SELECT state FROM transactions WHERE transaction_id = wanted.id OFFSET 0) AS t WHERE state IN ${MINED_OR_FINAL}`,
          values: [ids],
        })
        return new Map(rows.map(({ id }) => [id, true]))
      },
    }),
  }
}

/** By id, of any tenant. Planning a list of ids costs more than the read of one. */
async function readEach(pool: Pool, ids: readonly string[]): Promise<Map<string, Found>> {
  const statement =
    ids.length === 1
      ? { name: 'read_transaction', text: `${select()} WHERE t.transaction_id = $1`, values: [ids[0]] }
      : { name: 'read_transactions', text: `${select()} WHERE t.transaction_id = ANY($1)`, values: [ids] }
  const { rows } = await pool.query<FoundRow>(statement)
  return new Map(rows.map(({ found }) => [found.transaction_id, found]))
}

function columnsOf(table: string): string {
  const amounts = AMOUNT_COLUMNS.map((column) => `${table}.${column}::text`)
  return [...amounts, ...new Set([...VIEW_COLUMNS, ...partNames()].map((column) => `${table}.${column}`))].join(', ')
}

/** The ids of the transactions that serve a resource, of any tenant. */
export async function transactionsOf(pool: Pool, subject: SubjectType, id: string): Promise<string[]> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({
    name: 'transactions_of_subject',
    text: 'SELECT transaction_id FROM transactions WHERE subject_type = $1 AND subject_id = $2',
    values: [subject, id],
  })
  return rows.map(({ transaction_id }) => transaction_id)
}

export type AnswerContext = {
  readonly transactions: TransactionReads
  /** `signWaitMs`: default time that a response waits for the hash, ms. */
  readonly config: Pick<Context['config'], 'signWaitMs'>
}

/**
 * The response to a request that became a transaction: with its hash, if it is signed soon enough.
 *
 * @param waitMs what the request asked for; `null` for the default
 * @param over ends the wait
 */
export async function answerAccepted(
  { transactions, config }: AnswerContext,
  tenantId: string,
  { id, made }: { readonly id: string; readonly made: TransactionView | null },
  waitMs: number | null,
  over: AbortSignal,
) {
  const view = made ?? (await transactions.readById(tenantId, id))
  const limitMs = waitMs ?? config.signWaitMs
  const waits = view.state === 'requested' && limitMs > 0
  const signed = waits ? await transactions.untilSigned(id, limitMs, over) : null
  return { code: 202 as const, view: toAccepted(signed ?? view) }
}

/** The same for a batch: one wait for all, and the hashes that are known after it. */
export async function answerBatch(
  { transactions, config }: AnswerContext,
  tenantId: string,
  { id, made }: { readonly id: string; readonly made: readonly TransactionView[] | null },
  waitMs: number | null,
  over: AbortSignal,
) {
  const views = made ?? (await transactions.readBatch(tenantId, id))
  const limitMs = waitMs ?? config.signWaitMs
  const newest = await Promise.all(
    views.map(async (view) => {
      const waits = view.state === 'requested' && limitMs > 0
      return (waits && (await transactions.untilSigned(view.transaction_id, limitMs, over))) || view
    }),
  )
  return { code: 202 as const, view: toAcceptedBatch(id, newest) }
}
