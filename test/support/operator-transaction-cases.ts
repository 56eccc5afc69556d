/** The cases of findings about open database transactions: see operator-cases.ts. */
import type { OpenTransaction } from '../../src/event-log/open-transactions.ts'
import type { Finding } from '../../src/operator/finding.ts'
import { service } from './operator-facts.ts'

export const IDLE_TRANSACTION: OpenTransaction = {
  pid: 4711,
  prepared: null,
  database: 'warehouse',
  user: 'reporting',
  application: 'psql',
  state: 'idle in transaction',
  query: 'UPDATE facts\n  SET n = 1',
  ageMs: 95_000,
  seenAs: 'bursar',
}
const HIDDEN = { ...IDLE_TRANSACTION, state: null, query: null, ageMs: null, seenAs: 'Owner' }
const PREPARED = { ...IDLE_TRANSACTION, pid: null, prepared: "it's", application: null, state: 'prepared', query: null }

const open = (transaction: OpenTransaction, waitingMs = 0) =>
  service({ openTransactions: { transactions: [transaction], waitingMs } })

type Case = readonly [() => Finding[], string, RegExp, RegExp]

export const TRANSACTION_CASES = {
  transaction_open: [
    [
      () => open(IDLE_TRANSACTION),
      'pid 4711',
      /user reporting \(database warehouse, application psql\) has been open for 1 min 35 s \(idle in transaction: UPDATE facts SET n = 1\)/,
      /SELECT pg_terminate_backend\(4711\)[\s\S]*ALTER DATABASE warehouse SET idle_in_transaction_session_timeout/,
    ],
    [
      () => open({ ...IDLE_TRANSACTION, state: 'active', application: '' }),
      'pid 4711',
      /\(database warehouse\) has been open/,
      /wait, or terminate the session.*pg_terminate_backend\(4711\)/,
    ],
    [
      () => open(HIDDEN, 40_000),
      'pid 4711',
      /application psql\); events have waited for 40\.0 s\./,
      /GRANT pg_read_all_stats TO \\+"Owner/,
    ],
    [
      () => open(PREPARED),
      "prepared transaction it's",
      /\(database warehouse\) has been open for 1 min 35 s \(prepared\)/,
      /ROLLBACK PREPARED 'it''s'/,
    ],
  ],
} as const satisfies Readonly<Record<string, readonly Case[]>>
