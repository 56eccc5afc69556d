/** Database transactions that delay the readers of the log. Pure. */
import { type OpenTransaction, type OpenTransactions, openFor } from '../../event-log/open-transactions.ts'
import { type Finding, type NextStep, step } from '../finding.ts'
import type { ReaderNow } from '../for-operators.ts'
import type { Limits } from '../limits.ts'
import { duration } from '../words.ts'

/** Maximum number named; when they have ended, the next ones are shown. */
const MAX_NAMED = 5

/** @param readers those of capabilities */
export function judgeTransactions(
  open: OpenTransactions,
  { workMs }: Pick<Limits, 'workMs'>,
  readers: readonly Pick<ReaderNow, 'delivers'>[],
): Finding[] {
  const waiting = ['event streams', ...readers.map(({ delivers }) => delivers)].join(' and ')
  return openFor(open, workMs)
    .slice(0, MAX_NAMED)
    .map((transaction) => ({
      kind: 'transaction_open',
      subject: transaction.pid === null ? `prepared transaction ${transaction.prepared}` : `pid ${transaction.pid}`,
      problem:
        `${describe(transaction)} Readers of the log wait for it: accepted requests are processed late, by the sweeper, ` +
        `${waiting} deliver nothing new, and the auditor signs nothing new.`,
      forMs: transaction.openMs,
      next: [...endIt(transaction), ...preventIt(transaction), ...showIt(transaction)],
    }))
}

function describe({ ageMs, openMs, user, database, application, state, query }: OpenTransaction & { openMs: number }) {
  const session = application ? `, application ${application}` : ''
  const since =
    ageMs === null ? `; events have waited for ${duration(openMs)}` : ` has been open for ${duration(ageMs)}`
  const statement = query === null ? '' : `: ${query.replaceAll(/\s+/g, ' ')}`
  return `A database transaction of the user ${user} (database ${database}${session})${since}${state === null ? '' : ` (${state}${statement})`}.`
}

function endIt({ pid, prepared, database, state }: OpenTransaction): NextStep[] {
  if (pid === null)
    return [
      step(
        `Commit it or roll it back, as its owner or a superuser, in the database ${database}.`,
        `psql $DATABASE_URL -c "\\c ${quotedIdentifier(database ?? '')}" -c "ROLLBACK PREPARED '${prepared?.replaceAll("'", "''")}'"`,
      ),
    ]
  const when =
    state === 'active'
      ? 'It is running a statement: wait, or terminate the session, which rolls it back. A superuser or its own user can do this.'
      : 'Terminate the session, which rolls it back. A superuser or its own user can do this.'
  return [step(when, `psql $DATABASE_URL -c "SELECT pg_terminate_backend(${pid})"`)]
}

/** Bursar's own databases have this setting from `npm run migrate`. */
function preventIt({ state, database }: OpenTransaction): NextStep[] {
  if (state === null || !state.startsWith('idle in transaction')) return []
  return [
    step(
      'Set a timeout, so that the server ends such transactions in new sessions.',
      `psql $DATABASE_URL -c "ALTER DATABASE ${quotedIdentifier(database ?? '')} SET idle_in_transaction_session_timeout = '1min'"`,
    ),
  ]
}

function showIt({ state, seenAs }: OpenTransaction): NextStep[] {
  if (state !== null) return []
  return [
    step(
      'The owner of the tables cannot see its age and statement: a superuser can grant that.',
      `psql $DATABASE_URL -c "GRANT pg_read_all_stats TO ${quotedIdentifier(seenAs)}"`,
    ),
  ]
}

/** An SQL identifier quoted for use in a shell string. */
function quotedIdentifier(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `\\"${name.replaceAll('"', '\\"\\"')}\\"`
}
