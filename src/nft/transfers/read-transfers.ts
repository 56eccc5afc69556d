/** Reads token transfers for their owner, with the outcomes of their transactions. */
import type { Pool } from 'pg'
import { NotFound, PermissionDenied } from '../../core/errors.ts'
import type { Owner } from '../../core/tenants.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { FATE } from '../outcome.ts'
import { type NftTransferView, type TransferItemRow, type TransferRow, toTransferView } from './view.ts'

/**
 * @throws NotFound `transfer_not_found`; PermissionDenied `environment_mismatch` when it is the owner's, in the other
 *   environment
 */
export async function readNftTransfer(
  pool: Pool,
  { tenantId, environment }: Owner,
  transferId: string,
): Promise<NftTransferView> {
  const { rows } = await pool.query<TransferRow & TransferItemRow>({
    name: 'read_nft_transfer',
    text: `SELECT n.*, c.contract_address, i.token_id, i.to_address, i.amount, i.transaction_id, ${FATE}
             FROM nft_transfers n JOIN nft_collections c USING (collection_id) JOIN nft_transfer_items i USING (transfer_id)
             JOIN ${TRANSACTIONS} x ON x.transaction_id = i.transaction_id
            WHERE n.transfer_id = $1 ORDER BY i.item`,
    values: [transferId],
  })
  const [transfer] = rows
  if (transfer === undefined || transfer.tenant_id !== tenantId) throw new NotFound('transfer')
  if (transfer.environment !== environment) {
    const message = `The API key is for ${environment} but the transfer is on ${transfer.environment}: use a key for ${transfer.environment}.`
    throw new PermissionDenied('environment_mismatch', message)
  }
  return toTransferView(transfer, rows)
}
