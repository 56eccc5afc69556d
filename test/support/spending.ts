/** Transactions that count towards limits, without keys: what an append of them does to the counters. */
import type pg from 'pg'
import type { Test } from 'tap'
import { bucketOf, type Reservation } from '../../src/core/spend-limits.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { newTransactionId, seedWallet, TEST_CHAIN, type TestLog, transferIntent, withLog } from './log.ts'
import { decided } from './raw-append.ts'

export const HOUR = 3_600
export const COUNTER = 'key_1 eip155:1000001/slip44:60 3600'
const T0 = Date.parse('2026-11-30T12:00:00.000Z')
export const at = (seconds: number) => new Date(T0 + seconds * 1_000).toISOString()

export type Spend = {
  readonly amount: bigint
  readonly kept?: bigint
  readonly limit?: bigint
  readonly at?: string
  readonly counter?: string
}

function reservation({ amount, kept = 0n, limit = 500n, at: now = at(0), counter = COUNTER }: Spend): Reservation {
  return { counter, unit: 'ETH', decimals: 18, bucket: bucketOf(now, HOUR), windowSeconds: HOUR, limit, amount, kept }
}

export function spending(...spends: readonly Spend[]): TransactionCommand {
  return {
    type: 'RequestTransaction',
    opening: 'TransferRequested',
    intent: transferIntent({ reservations: spends.map(reservation) }),
  }
}

/** A wallet that can pay anything, and a chain whose newest block is as old as the clock. */
export async function withSpending(t: Test): Promise<TestLog> {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 10n ** 30n })
  await seeBlock(test.pool, at(0))
  return test
}

export async function seeBlock(pool: pg.Pool, time: string, chainId = TEST_CHAIN): Promise<void> {
  await pool.query(
    `INSERT INTO chain_blocks (chain_id, number, hash, parent_hash, timestamp)
     SELECT $1, count(*) + 1, '0x' || count(*), '0x', extract(epoch FROM $2::timestamptz)::bigint FROM chain_blocks`,
    [chainId, time],
  )
}

export const open = async (log: EventLog, ...spends: readonly Spend[]) => {
  const id = newTransactionId()
  await log.append({ decisions: [await decided(log, id, spending(...spends))] })
  return id
}

export const spentOf = async (pool: pg.Pool, counter = COUNTER) =>
  (await pool.query('SELECT coalesce(sum(spent), 0) AS spent FROM spend_buckets WHERE counter = $1', [counter])).rows[0]
    .spent as string
