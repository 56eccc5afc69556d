/** A row that another session keeps locked delays only the commits of its own wallet, or its own lease. */
import pg from 'pg'
import t, { type Test } from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { isConnectionFailure } from '../../src/event-log/database-errors.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { newTransactionId, seedWallet, type TestLog, transferIntent, withLog } from '../support/log.ts'

const CONTEXT = { metadata: { tenantId: 'acme', actor: 'test' }, now: '2026-01-01T00:00:00.000Z' }
/** More than a batch holds; few enough that they end before the wait for a lock does. */
const OTHERS = 150
const ROUNDS = 5

function transferOf(walletId: string) {
  const unknown = { id: newTransactionId(), state: transactionAggregate.initialState, version: 0, hash: '' }
  const intent = transferIntent({ walletId })
  const made = decideOn(
    transactionAggregate,
    unknown,
    { type: 'RequestTransaction', opening: 'TransferRequested', intent },
    CONTEXT,
  )
  if (made === null) throw new Error('the request produced no event')
  return { decisions: [made], guards: { wallet: { walletId, require: 'active' as const } } }
}

/** @returns a function that releases the row */
function lockHolds(t: Test, test: TestLog, walletId: string): Promise<() => Promise<void>> {
  return lockRow(t, test, 'SELECT FROM wallet_holds WHERE wallet_id = $1 FOR UPDATE', walletId)
}

/** Like an operator in psql. @returns a function that releases the row */
async function lockRow(t: Test, { url }: TestLog, statement: string, key: string): Promise<() => Promise<void>> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  let isOpen = true
  const unlock = async () => {
    if (!isOpen) return
    isOpen = false
    await session.query('COMMIT')
    await session.end()
  }
  t.after(unlock)
  await session.query('BEGIN')
  const { rowCount } = await session.query(statement, [key])
  t.ok(rowCount, 'there is a row to lock')
  return unlock
}

async function withTwoWallets(t: Test): Promise<TestLog> {
  const test = await withLog(t)
  for (const [n, walletId] of ['wal_1', 'wal_2'].entries()) {
    await seedWallet(test.pool, { walletId, balance: 10n ** 12n, address: `0x${n}` })
    await test.log.append(transferOf(walletId))
  }
  return test
}

const stateOf = (promise: Promise<unknown>) => {
  const state = { is: 'open' }
  promise.then(
    () => {
      state.is = 'appended'
    },
    (error: { code?: string }) => {
      state.is = error.code ?? 'failed'
    },
  )
  return state
}

t.test('commits of other wallets are appended while one wallet waits for a lock', async (t) => {
  const test = await withTwoWallets(t)
  const unlock = await lockHolds(t, test, 'wal_1')
  const locked = [transferOf('wal_1'), transferOf('wal_1')].map((commit) => test.log.append(commit))
  const states = locked.map(stateOf)
  // In one batch with the first of them, and in batches after it.
  await Promise.all(Array.from({ length: OTHERS }, () => test.log.append(transferOf('wal_2'))))
  const late = test.log.append(transferOf('wal_1'))
  for (let round = 0; round < ROUNDS; round += 1) await test.log.append(transferOf('wal_2'))
  t.strictSame(
    states.map(({ is }) => is),
    ['open', 'open'],
    'the lock is still held',
  )
  await unlock()
  await Promise.all([...locked, late])
  const { rows } = await test.pool.query(
    'SELECT wallet_id, count(*)::int AS n FROM transactions GROUP BY wallet_id ORDER BY wallet_id',
  )
  t.strictSame(rows, [
    { wallet_id: 'wal_1', n: 4 },
    { wallet_id: 'wal_2', n: OTHERS + ROUNDS + 1 },
  ])
})

t.test('a lock that is not released ends the wait of its own wallet with an error that names it', async (t) => {
  const test = await withTwoWallets(t)
  const unlock = await lockHolds(t, test, 'wal_1')
  await t.rejects(test.log.append(transferOf('wal_1')), { code: 'database_busy', retryable: true })
  // It is known by now: nobody else waits for it even once.
  const refused = test.log.append(transferOf('wal_1'))
  const state = stateOf(refused)
  await test.log.append(transferOf('wal_2'))
  t.equal(state.is, 'open')
  await unlock()
  await refused
  await test.log.append(transferOf('wal_1'))
})

t.test('a lease whose row is locked does not prevent the renewal of others', async (t) => {
  const test = await withLog(t)
  const leases = createLeases({ pool: test.pool, holder: 'one', leaseMs: 2_000 })
  const [locked, free] = [await leases.acquire('locked'), await leases.acquire('free')]
  await locked?.renew()
  const unlock = await lockRow(t, test, 'SELECT FROM leases WHERE name = $1 FOR UPDATE', 'locked')
  t.equal(await free?.renew(), true, 'the lease is renewed while the lock is held')
  await unlock()
})

t.test('a statement that the server leaves unanswered counts as a database that does not answer', async (t) => {
  const { url } = await withLog(t)
  const client = new pg.Client({ connectionString: url, query_timeout: 100 })
  await client.connect()
  t.after(() => client.end())
  const error = await client.query('SELECT pg_sleep(30)').catch((reason: unknown) => reason)
  t.type(error, Error)
  t.ok(isConnectionFailure(error), String(error))
})
