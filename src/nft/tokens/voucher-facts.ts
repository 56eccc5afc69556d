/** What the chain has done to a voucher, as of the newest processed block. */
import type { Pool } from 'pg'
import type { OrNull } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { outcomeOf, type TransactionFate } from '../outcome.ts'
import type { VoucherFacts } from './mint-decider.ts'
import { USED_AS } from './token-rows.ts'

/** @returns no facts for an unknown mint */
export async function readVoucherFacts(pool: Pool, mintId: string): Promise<VoucherFacts> {
  const { rows } = await pool.query<FactsRow>({
    name: 'voucher_facts',
    text: `SELECT x.state AS redemption_state, x.succeeded AS redemption_succeeded, r.state AS revocation_state,
                  r.succeeded AS revocation_succeeded,
                  ${USED_AS} AS used
             FROM nft_vouchers v JOIN nft_tokens t ON t.mint_id = v.mint_id
             LEFT JOIN ${TRANSACTIONS} x ON x.transaction_id = t.transaction_id
             LEFT JOIN ${TRANSACTIONS} r ON r.transaction_id = v.revocation_id
            WHERE v.mint_id = $1`,
    values: [mintId],
  })
  const [row] = rows
  return {
    redemption: fateOf(row?.redemption_state, row?.redemption_succeeded),
    revocation: fateOf(row?.revocation_state, row?.revocation_succeeded),
    used: row?.used ?? null,
  }
}

type FactsRow = OrNull<{
  redemption_state: TransactionFate['state']
  redemption_succeeded: TransactionFate['succeeded']
  revocation_state: TransactionFate['state']
  revocation_succeeded: TransactionFate['succeeded']
}> & { readonly used: VoucherFacts['used'] }

function fateOf(state: string | null | undefined, succeeded: boolean | null | undefined) {
  return state ? outcomeOf({ state, succeeded: succeeded ?? null }) : null
}
