/** Lets a request wait until a signer has given a wallet its address, or all wallets of a batch theirs. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import { type WaitUntil, waitUntilRow } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import type { KeyedType } from './events.ts'
import { REQUESTED } from './sql.ts'

/**
 * Default time that a create request waits, ms. A signer that is busy with transfers answers by then; an mpc key that
 * is not in the pool takes all its parties some seconds, on a busy machine twenty.
 */
export const DEFAULT_ADDRESS_WAIT_MS: Readonly<Record<KeyedType, number>> = { hd: 10_000, mpc: 30_000 }

/** Resolves with the address of a wallet, or with `null` after the timeout. */
export type WaitForWallet = WaitUntil<{ readonly address: string }>

export function createWaitForWallet(ports: { readonly pool: Pool; readonly wakeUps: WakeUps }): WaitForWallet {
  return waitUntilRow<Pick<Row<'wallets', { readonly address: string }>, 'wallet_id' | 'address'>>(ports, {
    name: 'wallets_with_address',
    text: 'SELECT wallet_id, address FROM wallets WHERE wallet_id = ANY($1) AND address IS NOT NULL',
    id: 'wallet_id',
  })
}

/** Resolves when all wallets of a batch have their keys, or with `null` after the timeout. */
export type WaitForBatch = WaitUntil<{ readonly batch_id: string }>

/** One statement for all batches that requests wait for: it ends at the first wallet of each that waits. */
export function createWaitForBatch(ports: { readonly pool: Pool; readonly wakeUps: WakeUps }): WaitForBatch {
  return waitUntilRow<{ readonly batch_id: string }>(ports, {
    name: 'wallet_batches_with_addresses',
    text: `SELECT batch.id AS batch_id FROM unnest($1::text[]) AS batch(id)
            WHERE NOT EXISTS (SELECT FROM wallets WHERE batch_id = batch.id AND ${REQUESTED})`,
    id: 'batch_id',
  })
}
