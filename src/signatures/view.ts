/** A signature in the form of the API. */
import type { Row } from '../event-log/table-rows.ts'
import type { SignatureType } from './events.ts'

export const STATUSES = ['pending', 'signed'] as const

export type SignatureView = {
  readonly signature_id: string
  readonly wallet_id: string
  readonly address: string
  readonly type: SignatureType
  readonly status: (typeof STATUSES)[number]
  readonly digest: string
  /** These four are null until it is signed. */
  readonly signature: string | null
  readonly r: string | null
  readonly s: string | null
  readonly v: number | null
  readonly created_at: string
  readonly signed_at: string | null
}

export type SignatureRow = Pick<
  Row<'signatures', { readonly type: SignatureType }>,
  'signature_id' | 'tenant_id' | 'wallet_id' | 'address' | 'type' | 'digest' | 'signature' | 'created_at' | 'signed_at'
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
    created_at: created_at.toISOString(),
    signed_at: signed_at?.toISOString() ?? null,
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
