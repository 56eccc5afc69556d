/** Recovers the sender of signed bytes that another process helped to make or recorded, or that a node shows. */
import { decodeRlp, hexlify, keccak256 } from 'ethers'
import { eip1559Digest, encodeFields, typed, withSignature } from './eip1559.ts'
import { HALF_ORDER } from './recover-signer.ts'
import { recoveredAddress } from './recovered-address.ts'
import type { SignedTransaction, UnsignedTransaction } from './signer.ts'

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
  const parts = isAsked ? signatureOf(signed) : null
  if (parts === null) return null
  return recoveredAddress(digestBytes(typed(unsigned)), parts.signature, parts.recoveryId)
}

/**
 * The address that sends bytes which somebody recorded, as `senderOf`: `null` also unless they have this hash, and are
 * the only encoding of their signature that a node accepts (EIP-2).
 */
export function provenSender(transaction: UnsignedTransaction, recorded: SignedTransaction): string | null {
  const parts = signatureOf(fieldsOf(recorded.rawTransaction) ?? [])
  if (parts === null || isUpperHalf(parts.signature)) return null
  try {
    const { hash, rawTransaction } = withSignature(transaction, parts)
    if (hash !== recorded.hash || rawTransaction !== recorded.rawTransaction) return null
    return recoveredAddress(eip1559Digest(transaction), parts.signature, parts.recoveryId)
  } catch (error) {
    if (error instanceof RangeError) return null // No transaction can have these fields.
    throw error
  }
}

function signatureOf(signed: readonly unknown[]): { readonly signature: Buffer; readonly recoveryId: 0 | 1 } | null {
  const [parity, r, s] = signed.slice(UNSIGNED_FIELDS)
  if ((parity !== '0x' && parity !== '0x01') || typeof r !== 'string' || typeof s !== 'string') return null
  const signature = Buffer.from(r.slice(2).padStart(64, '0') + s.slice(2).padStart(64, '0'), 'hex')
  return { signature, recoveryId: parity === '0x' ? 0 : 1 }
}

function isUpperHalf(signature: Buffer): boolean {
  return BigInt(`0x${signature.toString('hex', 32)}`) > HALF_ORDER
}

function digestBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(keccak256(bytes).slice(2), 'hex')
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
