/** The voucher of a lazy mint in the form of the API, with everything needed to redeem it. */

import type { View } from '../../http/view.ts'
import { voucherTypedData } from '../contracts/voucher.ts'
import { outcomeOf } from '../outcome.ts'
import type { TokenRow } from './token-rows.ts'
import type { voucherSchema } from './voucher-schemas.ts'
import { chainVoucher } from './voucher-terms.ts'

const STATUS = { pending: 'PENDING', done: 'REVOKED', failed: 'FAILED' } as const

type VoucherView = NonNullable<View<typeof voucherSchema>>

/** Null unless the mint is LAZY. */
export function voucherOf(row: TokenRow): VoucherView | null {
  if (row.minting_type !== 'LAZY') return null
  const { named: recipient, amount, signature } = row
  const validUntil = row.valid_until?.toISOString() ?? null
  const terms = chainVoucher({ tokenId: row.token_id, recipient, amount, cid: row.minted_cid, validUntil })
  const { domain, message } = voucherTypedData(row.chain_id, row.contract_address, terms)
  return {
    token_id: row.token_id,
    recipient,
    amount,
    metadata_digest: message.digest,
    valid_until: validUntil,
    signature,
    domain,
    message,
    revocation: revocationOf(row),
  }
}

function revocationOf(row: TokenRow): VoucherView['revocation'] {
  const { revocation_id, revocation_state, revocation_succeeded, revocation_hash } = row
  if (revocation_id === null || revocation_state === null) return null
  const status = STATUS[outcomeOf({ state: revocation_state, succeeded: revocation_succeeded })]
  return { status, transaction_id: revocation_id, transaction_hash: revocation_hash }
}
