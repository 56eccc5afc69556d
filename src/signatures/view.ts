/** A signature in the form of the API. */
import { toIso } from '../core/instants.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { SignatureType } from './events.ts'
import type { signatureSchema } from './schemas.ts'

export type SignatureView = View<typeof signatureSchema>

/** The columns that a view needs. */
export const COLUMNS = [
  'signature_id',
  'tenant_id',
  'wallet_id',
  'address',
  'type',
  'digest',
  'signature',
  'created_at',
  'signed_at',
] as const

export type SignatureRow = Pick<
  ReadOrWrittenRow<'signatures', { readonly type: SignatureType }>,
  (typeof COLUMNS)[number]
>

export function toView(row: SignatureRow): SignatureView {
  const { signature_id, wallet_id, address, type, digest, signature, created_at, signed_at } = row
  return {
    signature_id,
    wallet_id,
    address,
    type,
    status: signature === null ? 'pending' : 'signed',
    digest,
    signature,
    ...(signature === null ? { r: null, s: null, v: null } : partsOf(signature)),
    created_at: toIso(created_at),
    signed_at: signed_at === null ? null : toIso(signed_at),
  }
}

/** @param signature 65 bytes in hex: r and s of 32 bytes each, and v */
function partsOf(signature: string): { readonly r: string; readonly s: string; readonly v: number } {
  return {
    r: signature.slice(0, 66),
    s: `0x${signature.slice(66, 130)}`,
    v: Number.parseInt(signature.slice(130), 16),
  }
}
