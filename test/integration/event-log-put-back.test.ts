/** A database restored to an earlier state while processes run: none uses what it had read before. */
import type { QueryConfig } from 'pg'
import t, { type Test } from 'tap'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { FenceLost, StreamConflict } from '../../src/event-log/append.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { createEventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { newTransactionId, seedWallet, type TestLog, transferIntent, withLog } from '../support/log.ts'

const METADATA = { tenantId: 'acme', actor: 'test' }
const NOW = '2026-01-01T00:00:00.000Z'
const bytes = (nonce: number) => ({
  nonce,
  hash: `0x${nonce}`,
  rawTransaction: '0x02',
  fees: { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n },
  signedAt: NOW,
})

async function withTransfer(t: Test) {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 10n ** 18n })
  const id = newTransactionId()
  const remembering = createEventLog({ ...test, clock: Date.now, recentStreams: { streams: 100, fromVersion: 1 } })
  const run = (command: Parameters<typeof transactionAggregate.decide>[0]) =>
    remembering.execute(transactionAggregate, id, command, { metadata: METADATA })
  await run({ type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() })
  await run({ type: 'RecordSignature', signed: bytes(7) })
  return { ...test, id, remembering }
}

/** Like a restored backup: the newest events do not exist. */
async function forget({ pool }: TestLog, id: string, from: number): Promise<void> {
  await pool.query('ALTER TABLE events DISABLE TRIGGER USER')
  await pool.query('DELETE FROM events WHERE stream_id = $1 AND stream_version >= $2', [`transaction-${id}`, from])
  await pool.query('ALTER TABLE events ENABLE TRIGGER USER')
}

t.test('a state that is remembered is not used when the log has forgotten its newest event', async (t) => {
  const test = await withTransfer(t)
  t.equal((await test.remembering.load(transactionAggregate, test.id)).state.state, 'signed')
  await forget(test, test.id, 2)
  t.match(await test.remembering.load(transactionAggregate, test.id), { version: 1, state: { state: 'requested' } })
})

t.test('events that were decided on a forgotten event are refused', async (t) => {
  const test = await withTransfer(t)
  const { id, log } = test
  const loaded = await log.load(transactionAggregate, id)
  await forget(test, id, 2)
  const late = decideOn(
    transactionAggregate,
    loaded,
    { type: 'RecordSubmission', hash: '0x7', now: NOW },
    { metadata: METADATA, now: NOW },
  )
  if (late === null) throw new Error('the submission produced no event')
  await t.rejects(log.append({ decisions: [late] }), StreamConflict)
  await log.execute(transactionAggregate, id, { type: 'RecordSignature', signed: bytes(8) }, { metadata: METADATA })
  await t.rejects(log.append({ decisions: [late] }), StreamConflict, 'a newer event in its place is a conflict')
  t.equal((await log.readStream(transactionAggregate, id)).length, 2)
})

t.test('a lease that was taken before the server was started again is held by nobody', async (t) => {
  const { pool, log } = await withLog(t)
  const [one, other] = ['one', 'other'].map((holder) => createLeases({ pool, holder, leaseMs: 60_000 }))
  const held = await one?.acquire('lane')
  if (held == null || other === undefined) throw new Error('the lease is not free')
  t.equal(await other.acquire('lane'), null)
  t.equal(await held.renew(), true)
  await log.append({ decisions: [], guards: { fence: held } })
  await pool.query("UPDATE leases SET server_start = server_start - interval '1 hour'")
  await t.rejects(log.append({ decisions: [], guards: { fence: held } }), FenceLost)
  t.equal(await held.renew(), false)
  t.equal(await held.release(), 'lost')
  const taken = await other.acquire('lane')
  t.ok(taken !== null && taken.fence > held.fence, 'another process can take the lease at once')
})

t.end()

t.test('a long stream is read from its remembered version on, and a short one is not remembered', async (t) => {
  const { id, pool, wakeUps } = await withTransfer(t)
  let read = 0
  const counting = new Proxy(pool, {
    get: (target, key) =>
      key === 'query'
        ? async (statement: QueryConfig) => {
            const result = await target.query(statement)
            if (statement.name === 'load_streams') read = result.rowCount ?? 0
            return result
          }
        : Reflect.get(target, key),
  })
  const log = createEventLog({
    pool: counting,
    wakeUps,
    clock: Date.now,
    recentStreams: { streams: 100, fromVersion: 4 },
  })
  const reads = []
  for (const command of [
    { type: 'RecordSubmission', hash: '0x7', now: NOW },
    { type: 'RequestCancellation', now: NOW },
  ] as const) {
    await log.execute(transactionAggregate, id, command, { metadata: METADATA })
    await log.load(transactionAggregate, id)
    reads.push(read)
  }
  t.strictSame(reads, [3, 1])
})
