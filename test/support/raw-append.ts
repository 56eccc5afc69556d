/** Appends to the log as a process sends them, for a test to change: what an attacker with its database login can send. */
import type { Pool } from 'pg'
import type { Test } from 'tap'
import type { Metadata } from '../../src/core/messages.ts'
import { decideOn } from '../../src/event-log/aggregate.ts'
import { type Commit, encodeBatch } from '../../src/event-log/append.ts'
import type { EventLog } from '../../src/event-log/log.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import type { TransactionCommand } from '../../src/transactions/decider.ts'
import { newTransactionId, seedWallet, type TestLog, transferIntent, withLog } from './log.ts'
import { appendRaw } from './raw-events.ts'

export const REFUSED = { code: '42501' }
export const METADATA = { tenantId: 'acme', actor: 'test' }
export const NOW = '2026-01-01T00:00:00.000Z'
export const REQUEST: TransactionCommand = {
  type: 'RequestTransaction',
  opening: 'TransferRequested',
  intent: transferIntent(),
}

export type Sent = {
  guards: Record<string, object[]>
  events: object[]
  rows: Record<string, Record<string, unknown>[]>
}

export function sent(commit: Commit): Sent {
  const [guards, events, rows] = encodeBatch([commit]).map((text) => JSON.parse(text))
  return { guards, events, rows }
}

export function append(pool: Pool, { guards, events, rows }: Sent): Promise<unknown> {
  const texts = events.map((event) => ({ json: JSON.stringify(event) }))
  return appendRaw(pool, texts, rows, guards)
}

export async function decided(log: EventLog, id: string, command: TransactionCommand, metadata: Metadata = METADATA) {
  const made = decideOn(transactionAggregate, await log.load(transactionAggregate, id), command, { metadata, now: NOW })
  if (made === null) throw new Error(`${command.type} produced no event`)
  return made
}

/** A log with transfers of 1,000 wei that wait, from a wallet with 1 ether. */
export async function withTransfers(t: Test, count = 1): Promise<TestLog & { readonly ids: readonly string[] }> {
  const test = await withLog(t)
  await seedWallet(test.pool, { walletId: 'wal_1', balance: 10n ** 18n })
  const ids = Array.from({ length: count }, newTransactionId)
  for (const id of ids) await test.log.append({ decisions: [await decided(test.log, id, REQUEST)] })
  return { ...test, ids }
}

export const heldOf = async (pool: Pool) =>
  (await pool.query('SELECT wallet_id, asset_id, held FROM wallet_holds WHERE held <> 0 ORDER BY 1, 2')).rows
