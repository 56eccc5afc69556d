/**
 * Idempotency keys on a real PostgreSQL: a replay names an existing resource, and a refused request leaves its key
 * free.
 */
import t, { type Test } from 'tap'
import { appendOnce, findReplay } from '../../src/event-log/accept.ts'
import { decideNew } from '../../src/event-log/aggregate.ts'
import { StreamConflict } from '../../src/event-log/append.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { newTransactionId, seedWallet, type TestLog, transferIntent, withLog } from '../support/log.ts'

const NOW = '2026-01-01T00:00:00.000Z'

/** Requests a transfer of `amount` wei with a key; the request's digest is its amount. */
async function request({ log }: TestLog, key: string, amount: string, digest = amount) {
  const id = newTransactionId()
  const metadata = { tenantId: 'acme', actor: 'test', idempotency: { key, fingerprint: digest } }
  const command = {
    type: 'RequestTransaction',
    opening: 'TransferRequested',
    intent: transferIntent({ amount: BigInt(amount) }),
  } as const
  const requested = decideNew(transactionAggregate, id, command, { metadata, now: NOW })
  return appendOnce(log, { decisions: [requested] }, { resourceId: id, metadata })
}

t.test('a key makes one resource, returns it to every replay, and refuses another request', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const { id, replayed } = await request(test, 'k1', '1')
  t.equal(replayed, false)
  t.strictSame(await request(test, 'k1', '1'), { id, replayed: true })
  await t.rejects(request(test, 'k1', '2'), { code: 'idempotency_key_reused' })
  const metadata = (key: string, fingerprint: string) => ({
    tenantId: 'acme',
    actor: 'test',
    idempotency: { key, fingerprint },
  })
  t.equal(await findReplay(test.pool, metadata('k1', '1')), id)
  t.equal(await findReplay(test.pool, metadata('k2', '1')), null)
  t.equal(await findReplay(test.pool, { ...metadata('k1', '1'), tenantId: 'globex' }), null)
  await t.rejects(findReplay(test.pool, metadata('k1', '2')), { code: 'idempotency_key_reused' })
})

t.test('a replay in the same batch gets the resource only when it is in the log', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 1_000_000n })
  const order: boolean[] = []
  const opened = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const answer = await request(test, 'k1', '1')
      order.push(answer.replayed)
      return answer.id
    }),
  )
  t.equal(new Set(opened).size, 1)
  t.strictSame(order, [false, ...Array.from({ length: 9 }, () => true)])
})

t.test('a refused request leaves its key to the simultaneous one', async (t: Test) => {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 50_000n })
  const [dear, cheap] = await Promise.allSettled([
    request(test, 'k1', '1000000', 'same'),
    request(test, 'k1', '1', 'same'),
  ])
  t.match(dear, { status: 'rejected', reason: { code: 'insufficient_funds' } })
  t.match(cheap, { status: 'fulfilled', value: { replayed: false } })
  const { rows } = await test.pool.query('SELECT amount FROM transactions')
  t.strictSame(rows, [{ amount: '1' }])
})

t.test('a request is prepared again after a conflict, and a refused one gets what its key made before', async (t) => {
  const { pool, accept } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 50_000n })
  const metadata = { tenantId: 'acme', actor: 'test', idempotency: { key: 'k1', fingerprint: 'same' } }
  const id = newTransactionId()
  const command = { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() } as const
  let tries = 0
  const first = await accept(metadata, async (append) => {
    tries += 1
    if (tries < 3) throw new StreamConflict('transaction-1')
    const decisions = [decideNew(transactionAggregate, id, command, { metadata, now: NOW })]
    return append({ id, commit: { decisions }, made: 'new' })
  })
  t.strictSame([tries, first], [3, { id, replayed: false, made: 'new' }])
  const replay = { id, replayed: true, made: null }
  const refuse = async () => {
    throw new RangeError('refused today')
  }
  t.strictSame(await accept(metadata, refuse), replay)
  const never = async () => t.fail('the request was prepared although its key is known') as never
  t.strictSame(await accept(metadata, never, { replayFirst: true }), replay)
  const other = { ...metadata, idempotency: { key: 'k1', fingerprint: 'other' } }
  await t.rejects(accept(other, refuse), { code: 'idempotency_key_reused' })
  const fresh = { ...metadata, idempotency: { key: 'k2', fingerprint: 'same' } }
  await t.rejects(accept(fresh, refuse), RangeError)
  await t.rejects(
    accept(fresh, async (append) => {
      const dear = { ...command, intent: transferIntent({ amount: 1_000_000n }) }
      const decisions = [decideNew(transactionAggregate, newTransactionId(), dear, { metadata: fresh, now: NOW })]
      return append({ id, commit: { decisions }, explain: () => new RangeError('too dear'), made: null })
    }),
    { message: 'too dear' },
  )
})
