/** The work of vouchers: those that wait for their signature. */
import { streamWork } from '../../jobs/work.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { UNSIGNED } from '../sql.ts'
import type { MintEvent } from './mint-events.ts'

export const voucherWork = streamWork<MintEvent>({
  name: 'vouchers',
  queue: 'voucher',
  category: 'mint',
  field: 'mint_id',
  from: ['VoucherRequested'],
  waiting: `SELECT v.mint_id AS id, w.tenant_id, v.created_at AS at FROM nft_vouchers v LEFT JOIN ${WALLETS} w USING (wallet_id)
    WHERE v.${UNSIGNED} AND v.created_at < $1`,
  owners: { wallets: 'SELECT mint_id AS id, wallet_id FROM nft_vouchers WHERE mint_id = ANY ($1)' },
})
