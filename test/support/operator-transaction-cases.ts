/** The cases of findings about readers of the log, and open database transactions that they wait for: see operator-cases.ts. */
import type { OpenTransaction } from '../../src/event-log/open-transactions.ts'
import type { Finding } from '../../src/operator/finding.ts'
import { service, without } from './operator-facts.ts'

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

export const READER_CASES = {
  subscription_behind: [
    [
      () => service({ subscriptions: [{ name: 'dispatcher', lagMs: 31_000 }] }),
      'dispatcher',
      /31\.0 s ago/,
      /--detach dispatcher/,
    ],
  ],
  feed_behind: [
    [
      () =>
        service({
          processes: [
            ...without('api'),
            {
              process: 'api',
              instance: 'h:1',
              silentMs: 1_000,
              problem: 'Event streams are 45 s behind the log: no room.',
            },
          ],
        }),
      'api h:1',
      /45 s behind the log: no room\. Its clients.*none is lost/,
      /logs --since 10m api.*restart api/,
    ],
  ],
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
