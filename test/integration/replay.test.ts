/** Law 7: the fold of the log equals the live read models after any sequence of commands. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { bucketOf } from '../../src/core/spend-limits.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { newTransactionId, seedWallet, TEST_CHAIN, transferIntent, withLog } from '../support/log.ts'

/** The test writes the wallet and its balance directly, without events. */
const LOGGED = ['transactions', 'wallet_holds', 'spend_buckets', 'idempotency_keys'] as const
const METADATA = { tenantId: 'acme', actor: 'test' }
const now = '2026-01-01T00:00:00.000Z'

function signed(nonce: number, hash: string) {
  return {
    nonce,
    hash,
    rawTransaction: '0x02',
    fees: { gasLimit: 21_000n, maxFeePerGas: BigInt(2 + hash.length), maxPriorityFeePerGas: 1n },
    signedAt: now,
  }
}

/** Commands in any order: the decider refuses invalid ones. */
const command = (nonce: number): fc.Arbitrary<TransactionCommand> => {
  const hash = fc.constantFrom('0xa', '0xbb', '0xccc')
  const block = fc.integer({ min: 1, max: 3 })
  return fc.oneof(
    hash.map((value): TransactionCommand => ({ type: 'RecordSignature', signed: signed(nonce, value) })),
    fc.tuple(hash, fc.constantFrom('bump' as const, 'speed_up' as const, 'cancel' as const)).map(
      ([value, purpose]): TransactionCommand => ({
        type: 'RecordReplacement',
        signed: signed(nonce, value),
        purpose,
      }),
    ),
    hash.map((value): TransactionCommand => ({ type: 'RecordSubmission', hash: value, now })),
    hash.map((value): TransactionCommand => ({ type: 'RecordShortFunds', hash: value, now })),
    fc.tuple(hash, block, fc.boolean()).map(
      ([value, blockNumber, succeeded]): TransactionCommand => ({
        type: 'RecordInclusion',
        inclusion: {
          hash: value,
          blockNumber,
          blockHash: `0xb${blockNumber}`,
          succeeded,
          logs: succeeded ? { entries: [], cut: false } : null,
          gasUsed: 21_000n,
          effectiveGasPrice: 2n,
          blockTimestamp: now,
          minedAt: now,
        },
      }),
    ),
    fc.constant<TransactionCommand>({ type: 'RecordReorg', head: 200, now }),
    fc.constant<TransactionCommand>({ type: 'Settle', confirmations: 2, revertReason: 'why', now }),
    fc.constant<TransactionCommand>({ type: 'RequestCancellation', now }),
    fc.constant<TransactionCommand>({ type: 'RequestSpeedUp', gasPriority: 'high', now }),
    fc.constant<TransactionCommand>({ type: 'FailUnsigned', code: 'expired', message: 'late', now }),
    fc.constant<TransactionCommand>({
      type: 'RecordForeignNonce',
      nonce,
      finalizedBlock: 9,
      takenBy: { hash: '0xf', blockNumber: 8 },
      now,
    }),
  )
}

t.test('the replayed log equals the live read models after any sequence of commands', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  await pool.query(`INSERT INTO chain_blocks VALUES ($1, 1, '0x', '0x', extract(epoch FROM now())::bigint)`, [
    TEST_CHAIN,
  ])
  const unit = { counter: 'c 3600', unit: 'ETH', decimals: 18, windowSeconds: 3_600, limit: 10n ** 30n }
  const bucket = bucketOf(new Date().toISOString(), 3_600)
  const reservations = [{ ...unit, bucket, amount: 1_000n, kept: 42n }]
  let nonce = 0
  let applied = 0
  const parameters = { numRuns: 60, seed: Date.now() }
  t.comment(`seed ${parameters.seed}`)
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat()), async () => {
      const id = newTransactionId()
      nonce += 1
      const unknown = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
      const opened = decideOn(
        transactionAggregate,
        unknown,
        { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent({ reservations }) },
        { metadata: METADATA, now },
      )
      await log.append({ decisions: opened === null ? [] : [opened] })
      for (const each of fc.sample(command(nonce), { numRuns: 12, seed: parameters.seed + nonce })) {
        try {
          await log.execute(transactionAggregate, id, each, { metadata: METADATA })
          applied += 1
        } catch (error) {
          if (!(error instanceof Error && 'code' in error)) throw error // The decider may refuse a command.
        }
      }
    }),
    parameters,
  )
  t.ok(applied > 60, `the sequences applied ${applied} commands`)
  t.not((await pool.query('SELECT FROM spend_buckets WHERE spent > 0')).rowCount, 0)
  t.same((await compareLive(pool, LOG_CONTENTS, { tables: LOGGED })).differences, [])
})

t.test('the comparison finds a row that was tampered with', async (t: Test) => {
  const { pool, log } = await withLog(t)
  await seedWallet(pool, { walletId: 'wal_1', balance: 10n ** 30n })
  const id = newTransactionId()
  const unknown = { id, state: transactionAggregate.initialState, version: 0, hash: '' }
  const opened = decideOn(
    transactionAggregate,
    unknown,
    { type: 'RequestTransaction', opening: 'TransferRequested', intent: transferIntent() },
    { metadata: METADATA, now },
  )
  await log.append({ decisions: opened === null ? [] : [opened] })
  await pool.query('UPDATE transactions SET amount = amount + 1')
  const { differences } = await compareLive(pool, LOG_CONTENTS, { tables: LOGGED })
  t.same(
    differences.map(({ table, key, live, replayed }) => [table, key, live?.amount, replayed?.amount]),
    [['transactions', { transaction_id: id }, '1001', '1000']],
  )
})
