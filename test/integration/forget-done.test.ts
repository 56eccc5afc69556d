/** Failed jobs whose work is done are removed, in each queue, on a real PostgreSQL. */

import t from 'tap'
import { openWork } from '../../src/compose/dispatcher.ts'
import { Conflict } from '../../src/core/errors.ts'
import type { QueueName } from '../../src/core/registry.ts'
import { QUEUE_LIMITS, QUEUE_NAMES } from '../../src/declarations.ts'
import { createJobs } from '../../src/jobs/create-jobs.ts'
import { forgetDone } from '../../src/jobs/forget-done.ts'
import { migrateQueues } from '../../src/jobs/postgres.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { requestWallet } from '../../src/wallets/request-wallet.ts'
import { OPEN_WEBHOOKS } from '../../src/webhooks/due-webhooks.ts'
import { newTransactionId, seedWallet, TEST_CHAIN, transferIntent } from '../support/log.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME, beat, hdRequest, withWallets } from '../support/wallet-parts.ts'

const SENT_MS = 30_000
const NOW = '2026-01-01T00:00:00.000Z'
const LANE = `${TEST_CHAIN}-${transferIntent().from}`

t.test('every queue is checked', async (t) => {
  t.strictSame([...openWork(SENT_MS).keys(), ...OPEN_WEBHOOKS.keys()].toSorted(), QUEUE_NAMES.toSorted())
})

t.test(
  'work that nobody requested, or that is done, is not open in any queue, and a malformed job stays',
  async (t) => {
    const { pool } = await withWallets(t)
    for (const [queue, findOpen] of [...openWork(SENT_MS), ...OPEN_WEBHOOKS]) {
      const id = /lane|submit/.test(queue) ? LANE : 'nothing_1'
      const ids = queue === 'observe' ? [] : [id]
      t.strictSame(await findOpen(pool, ids), [], queue)
    }
    t.strictSame(await openWork(SENT_MS).get('lane')?.(pool, ['amount']), ['amount'])
  },
)

t.test('a failed job stays as long as its work waits, and goes when another job has done it', async (t) => {
  const parts = await withWallets(t)
  const { pool, log, url } = parts
  await migrateQueues(url)
  await beat(parts)
  const silent = { warn: () => undefined, error: () => undefined, info: () => undefined }
  const jobs = createJobs({
    databaseUrl: url,
    queues: QUEUE_LIMITS,
    graceMs: 1_000,
    retries: { attempts: 1, baseMs: 1, capMs: 1 },
    log: silent,
  })
  t.teardown(() => jobs.close())
  const { id: walletId } = await requestWallet(parts, hdRequest(), { metadata: ACME })
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 18n })
  const id = newTransactionId()
  const run = (command: Parameters<typeof transactionAggregate.decide>[0]) =>
    log.execute(transactionAggregate, id, command, { metadata: ACME })
  await run({ type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() })

  const works = { wallet: walletId, lane: LANE, submit: LANE, observe: walletId } as const
  const failed = async () => {
    const counts = await jobs.counts()
    return Object.keys(works).filter((queue) => counts[queue as QueueName].failed > 0)
  }
  const check = async () => {
    await forgetDone({ pool, jobs }, openWork(SENT_MS))
    return failed()
  }
  const refuse = () => Promise.reject(new Conflict('not_today', 'Not today.'))
  for (const queue of Object.keys(works) as (keyof typeof works)[]) {
    const worker = jobs.process(queue, refuse, { concurrency: 1 })
    await jobs.add([{ queue, id: works[queue], data: {} }])
    await eventually(async () => (await jobs.counts())[queue].failed === 1)
    await worker.close()
  }

  t.strictSame(await check(), ['wallet', 'lane', 'observe'], 'nothing was signed yet: there is nothing to send')
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const signed = { nonce: 0, hash: '0x1', rawTransaction: '0x02', fees, signedAt: NOW }
  await run({ type: 'RecordSignature', signed })
  t.strictSame(await openWork(SENT_MS).get('submit')?.(pool, [LANE]), [LANE], 'signed bytes wait to be sent')
  t.strictSame(await check(), ['wallet', 'observe'])
  await run({ type: 'RecordSubmission', hash: '0x1', now: NOW })
  t.strictSame(await openWork(SENT_MS).get('submit')?.(pool, [LANE]), [])
  await parts.makeHdWallet(walletId)
  t.strictSame(await check(), ['observe'], 'the wallet has no balance yet')
  await pool.query(
    "INSERT INTO balances SELECT $1, asset_id, tenant_id, 0, block_number, block_hash, updated_at FROM balances WHERE wallet_id = 'wal_1'",
    [walletId],
  )
  t.strictSame(await check(), [])
})

t.end()
