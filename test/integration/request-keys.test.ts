/** Keys of requests that change nothing: recorded in one append with an event of their own, and rebuilt from it. */
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { newId } from '../../src/compose/new-id.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { rebuild } from '../../src/event-log/rebuild.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { speedUpTransaction } from '../../src/transactions/change-transaction.ts'
import { createTransactionReads } from '../../src/transactions/read-transactions.ts'
import { newTransactionId, seedWallet, type TestLog, transferIntent, withLog } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const AT_ONCE = 50
const KNOWN = { id: 'asset-1', environment: 'testnet' } as const

const metadataOf = (key: string, fingerprint = 'same') => ({
  tenantId: 'acme',
  actor: 'test',
  idempotency: { key, fingerprint },
})
const keysOf = async ({ pool }: TestLog) =>
  (await pool.query('SELECT key, fingerprint, resource_id FROM idempotency_keys ORDER BY key')).rows as {
    readonly key: string
    readonly resource_id: string
  }[]
const typesOf = async ({ pool }: TestLog, id: string) =>
  (await pool.query('SELECT type FROM events WHERE stream_id = $1 ORDER BY position', [id])).rows.map(
    ({ type }) => type as string,
  )

t.test('of 50 simultaneous requests that change nothing one is the first, and the key is rebuilt', async (t: Test) => {
  const test = await withLog(t)
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      test.accept(metadataOf('k1'), (_append, unchanged) => unchanged(KNOWN, 'known'), { replayFirst: true }),
    ),
  )
  t.equal(new Set(answers.map(({ id }) => id)).size, 1)
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1)
  const [id = ''] = answers.map((answer) => answer.id)
  t.strictSame(await typesOf(test, `request-${id}`), ['RequestChangedNothing'])
  const { rows } = await test.pool.query('SELECT environment FROM events')
  t.strictSame(rows, [{ environment: 'testnet' }], 'keys of the other environment do not see it')
  const refused = test.accept(metadataOf('k1', 'other'), (_append, unchanged) => unchanged(KNOWN, 'known'))
  await t.rejects(refused, { code: 'idempotency_key_reused' })

  const before = await keysOf(test)
  matchExactly(t, before, [{ key: 'k1', fingerprint: 'same', resource_id: id }])
  await test.pool.query("UPDATE idempotency_keys SET resource_id = 'false'")
  await rebuild(test.pool, LOG_CONTENTS, { tables: ['idempotency_keys'] })
  t.strictSame(await keysOf(test), before)
})

t.test('without a key nothing is recorded', async (t: Test) => {
  const test = await withLog(t)
  const accepted = await test.accept({ tenantId: 'acme', actor: 'test' }, (_append, unchanged) => unchanged(KNOWN, 1))
  t.match(accepted, { replayed: false, made: 1 })
  t.equal((await test.pool.query('SELECT FROM events')).rowCount, 0)
})

t.test('each of 12 simultaneous speed-ups has its key, and none of them speeds up again', async (t: Test) => {
  const test = await withLog(t)
  const { pool, log, accept, wakeUps } = test
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 18n })
  const id = newTransactionId()
  const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() } as const
  const metadata = { tenantId: 'acme', actor: 'test' }
  await log.append({ decisions: [decideNew(transactionAggregate, id, command, { metadata, now: NOW })] })
  const noNode = () => Promise.reject(new Error('no node answers'))
  const ctx = {
    ...{ log, accept, newId, pool },
    transactions: createTransactionReads({ pool, wakeUps, confirmationsOf: () => 2 }),
    quoteOf: noNode,
    chainOf: () => ({
      settings: { maxFeePerGasWei: 10n ** 12n },
      agreed: { batch: noNode },
      forks: { fork: async () => 'osaka' as const },
      exists: noNode,
    }),
  }
  const keys = Array.from({ length: 12 }, (_, n) => `speed-up-${n}`)
  const ask = (key: string) =>
    speedUpTransaction(
      ctx,
      { environment: 'mainnet', walletId: 'wal_1', transactionId: id, metadata: metadataOf(key) },
      'high',
    )
  const first = await Promise.all(keys.map(ask))
  t.strictSame(new Set(first.map(({ replayed }) => replayed)), new Set([false]))
  const wishes = async () => (await typesOf(test, `transaction-${id}`)).filter((type) => type === 'SpeedUpRequested')
  t.equal((await wishes()).length, 1)
  t.strictSame(
    (await keysOf(test)).map(({ key }) => key),
    keys.toSorted(),
  )
  const again = await Promise.all(keys.map(ask))
  t.strictSame(new Set(again.map(({ replayed }) => replayed)), new Set([true]))
  t.equal((await wishes()).length, 1)
})
