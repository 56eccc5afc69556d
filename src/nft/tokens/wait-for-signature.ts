/** Lets a request wait until a signer has signed the voucher of a mint. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import { type WaitUntil, waitUntilRow } from '../../event-log/wait-until.ts'
import type { WakeUps } from '../../event-log/wake-ups.ts'

/** By mint: resolves once its voucher is signed, or with `null` after the timeout. Gathers what is waited for: made once. */
export function createUntilVoucherSigned(pool: Pool, wakeUps: WakeUps): WaitUntil<unknown> {
  return waitUntilRow<Pick<Row<'nft_vouchers'>, 'mint_id'>>(
    { pool, wakeUps },
    {
      name: 'signed_vouchers',
      text: 'SELECT mint_id FROM nft_vouchers WHERE mint_id = ANY($1) AND signature IS NOT NULL',
      id: 'mint_id',
    },
  )
}
