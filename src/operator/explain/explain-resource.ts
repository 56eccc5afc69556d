/**
 * The history of a resource other than a transaction: its events, and its transactions. A batch has no events of its
 * own: that it was accepted is recorded in its transactions.
 */
import type { Pool } from 'pg'
import type { Explained } from '../../capability.ts'
import type { CliIo, ExitCode } from '../../cli/command.ts'
import { shown } from '../../cli/printed.ts'
import { NotFound } from '../../core/errors.ts'
import type { Event } from '../../core/messages.ts'
import { BrokenChain } from '../../event-log/broken-chain.ts'
import type { EventLog, SoundEvents } from '../../event-log/log.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { transactionAggregate } from '../../transactions/aggregate.ts'
import type { TransactionEvent } from '../../transactions/all-events.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { OperatorContext } from '../operator-context.ts'
import { bursar } from '../words.ts'
import type { Target } from './find-target.ts'
import { readKeyLabels } from './read-story.ts'
import { whoDid } from './story.ts'

type Listed = { readonly id: string; readonly type: string; readonly state: string; readonly createdAt: string }

/** A whole batch of transfers. */
const MAX_LISTED = 100

/** @throws NotFound when the log has no such resource */
export async function explainResource(
  { pool, log }: Pick<OperatorContext, 'pool' | 'log'>,
  { id, resource }: Extract<Target, { kind: 'resource' }>,
  io: CliIo,
): Promise<ExitCode> {
  const { noun, aggregate, also, transactionsOf } = resource
  const texts = { ...resource.texts, ...also?.texts }
  const transactions = transactionsOf === undefined ? [] : await readTransactions(pool, transactionsOf, id)
  const { events: own, held } =
    aggregate === null ? await readOpening(log, transactions.at(-1)) : await log.readSound<Event>(aggregate, id)
  const others = also === undefined ? [] : (await log.readSound<Event>(also.aggregate, id)).events
  const events = [...own, ...others].sort((one, other) => one.recordedAt.localeCompare(other.recordedAt))
  if (held !== null && events.length === 0) throw new BrokenChain(held)
  if (events.length === 0) throw new NotFound(noun, undefined, `There is no ${noun} ${id}.`)
  const labels = await readKeyLabels(pool, events)
  const textOf = ({ type, data }: Event) =>
    aggregate === null ? `A ${noun} was accepted` : (texts[type]?.(data as never) ?? type)
  const story = events.map((event) => ({
    at: event.recordedAt,
    event: event.type,
    who: whoDid(event, labels),
    text: textOf(event),
  }))
  const of = `${noun} ${id}`
  const printed = shown({ of, story, held, transactions })
  const rows = printed.transactions.map((one) => [one.id, one.type, one.state, one.createdAt])
  const [newest] = printed.transactions
  const list =
    newest === undefined
      ? ''
      : `\nIts transactions, newest first:\n\n${io.table(['transaction', 'type', 'state', 'requested at'], rows)}\n   → Read the history of one.\n     ${bursar(`explain ${newest.id}`)}\n`
  const lines = printed.story.map(
    ({ at, who, text }) => `${at}  ${io.paint.bold(text)}\n      ${io.paint.dim(`by ${who}`)}\n`,
  )
  const end = held === null ? '' : `${io.paint.red('held')}  ${printed.held}\n`
  io.print({ of, story, held, transactions }, `${io.paint.bold(printed.of)}\n\n${lines.join('')}${end}${list}`)
  return 0
}

/** The event that opened a transaction; none without a transaction. */
async function readOpening(
  log: Pick<EventLog, 'readSound'>,
  transaction: Listed | undefined,
): Promise<SoundEvents<Event>> {
  if (transaction === undefined) return { events: [], held: null }
  const { events, held } = await log.readSound<TransactionEvent>(transactionAggregate, transaction.id)
  return { events: events.slice(0, 1), held }
}

async function readTransactions(
  pool: Pool,
  of: NonNullable<Explained['transactionsOf']>,
  id: string,
): Promise<Listed[]> {
  const isWallet = of === 'wallet'
  const { rows } = await pool.query<
    Pick<Row<'transactions'>, 'type' | 'state'> & {
      id: Row<'transactions'>['transaction_id']
      at: Row<'transactions'>['created_at']
    }
  >(
    `SELECT t.transaction_id AS id, t.type, t.state, t.created_at AS at FROM ${TRANSACTIONS} t
      WHERE ${isWallet ? 't.wallet_id = $1' : 't.subject_id = $1 AND t.subject_type = $2'}
      ORDER BY t.transaction_id DESC LIMIT ${MAX_LISTED}`,
    isWallet ? [id] : [id, of],
  )
  return rows.map(({ at, ...row }) => ({ ...row, createdAt: at.toISOString() }))
}
