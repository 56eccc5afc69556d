/** Recovers the sender of signed bytes that another process helped to make, or that a node shows. */
import { decodeRlp, hexlify, keccak256 } from 'ethers'
import { encodeFields, typed } from './eip1559.ts'
import { recoveredAddress } from './recovered-address.ts'
import type { UnsignedTransaction } from './signer.ts'

/** Number of EIP-1559 fields before the signature, and with it. */
const UNSIGNED_FIELDS = 9
const SIGNED_FIELDS = 12

/**
 * The address that sends signed bytes, recovered from the bytes themselves.
 *
 * @param transaction the transaction to sign: bytes of any other transaction give `null`
 * @param rawTransaction from a signer, 0x-prefixed hex
 * @returns in lower case; `null` when the bytes are not that transaction with a signature
 */
export function senderOf(transaction: UnsignedTransaction, rawTransaction: string): string | null {
  const signed = fieldsOf(rawTransaction)
  if (signed === null) return null
  const unsigned = encodeFields(transaction)
  const isAsked = unsigned.every((field, place) =>
    field instanceof Uint8Array
      ? hexlify(field) === signed[place]
      : Array.isArray(signed[place]) && signed[place].length === 0,
  )
  const [parity, r, s] = signed.slice(UNSIGNED_FIELDS)
  if (!isAsked || (parity !== '0x' && parity !== '0x01') || typeof r !== 'string' || typeof s !== 'string') return null
  const signature = Buffer.from(r.slice(2).padStart(64, '0') + s.slice(2).padStart(64, '0'), 'hex')
  const digest = Buffer.from(keccak256(typed(unsigned)).slice(2), 'hex')
  return recoveredAddress(digest, signature, parity === '0x' ? 0 : 1)
}

function fieldsOf(rawTransaction: string): readonly unknown[] | null {
  if (!/^0x02[0-9a-f]+$/.test(rawTransaction)) return null
  try {
    const fields = decodeRlp(`0x${rawTransaction.slice(4)}`)
    return Array.isArray(fields) && fields.length === SIGNED_FIELDS ? fields : null
  } catch {
    return null
  }
}
