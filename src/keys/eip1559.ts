/**
 * Encodes an EIP-1559 transaction directly in RLP: takes a third of the time of the library's transaction object for
 * the unsigned hash, the bytes and the hash.
 */
import { keccak256, toBeArray } from 'ethers'
import type { RecoverableSignature } from './recoverable-signature.ts'
import { encodeRlpList, type RlpItem } from './rlp.ts'
import type { SignedTransaction, UnsignedTransaction } from './signer.ts'

const TYPE = Buffer.of(2)
const MAX_UINT256 = (1n << 256n) - 1n

/**
 * Signs one transaction with `sign`, which gets the Keccak-256 of the unsigned bytes.
 *
 * @throws RangeError for a field that the transaction type cannot hold
 */
export function signEip1559(
  transaction: UnsignedTransaction,
  sign: (digest: Uint8Array) => RecoverableSignature,
): SignedTransaction {
  const fields = encodeFields(transaction)
  return encodeSigned(fields, sign(digestOf(fields)))
}

/**
 * The signing digest: the Keccak-256 of the unsigned bytes. @throws RangeError for a field that the type cannot hold
 */
export function eip1559Digest(transaction: UnsignedTransaction): Uint8Array {
  return digestOf(encodeFields(transaction))
}

/** The signed bytes. @throws RangeError for a field that the transaction type cannot hold */
export function withSignature(transaction: UnsignedTransaction, signature: RecoverableSignature): SignedTransaction {
  return encodeSigned(encodeFields(transaction), signature)
}

function digestOf(fields: readonly RlpItem[]): Uint8Array {
  return toBytes(keccak256(typed(fields)))
}

function encodeSigned(fields: readonly RlpItem[], { signature, recoveryId }: RecoverableSignature): SignedTransaction {
  // Values 2 and 3 mean that R's x overflowed the order: probability 2^-127, and EIP-1559 cannot encode them.
  if (recoveryId > 1) throw new RangeError('the signature has no y parity that is valid in a transaction')
  const bytes = typed([
    ...fields,
    toBeArray(recoveryId),
    integer(signature.subarray(0, 32)),
    integer(signature.subarray(32, 64)),
  ])
  return { hash: keccak256(bytes), rawTransaction: `0x${bytes.toString('hex')}` }
}

/** In the order of EIP-1559; the access list is always empty. */
export function encodeFields(transaction: UnsignedTransaction): RlpItem[] {
  const { chainId, nonce, to, value, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (maxPriorityFeePerGas > maxFeePerGas) throw new RangeError('maxPriorityFeePerGas is larger than maxFeePerGas')
  return [
    count('chainId', chainId),
    count('nonce', nonce),
    quantity('maxPriorityFeePerGas', maxPriorityFeePerGas),
    quantity('maxFeePerGas', maxFeePerGas),
    quantity('gasLimit', gasLimit),
    recipient(to),
    quantity('value', value),
    callData(data),
    [],
  ]
}

/** The typed envelope (EIP-2718) over RLP. */
export function typed(fields: readonly RlpItem[]): Buffer {
  return Buffer.concat([TYPE, encodeRlpList(fields)])
}

function toBytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex')
}

function count(field: string, value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${field} must be a whole number of 0 or more`)
  return toBeArray(value)
}

function quantity(field: string, value: bigint): Uint8Array {
  if (value < 0n || value > MAX_UINT256) throw new RangeError(`${field} must fit in 256 bits`)
  return toBeArray(value)
}

/** RLP integers have no leading zeros; about one r or s in 256 has one. */
function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first === -1 ? new Uint8Array() : bytes.subarray(first)
}

/** The checksum (EIP-55) was verified on input: a second Keccak here would cost a tenth of the signature. */
function recipient(to: string): Buffer {
  if (!/^0x[0-9a-fA-F]{40}$/.test(to)) throw new RangeError('to must be an address of 20 bytes')
  return toBytes(to)
}

function callData(data: string): Buffer {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(data)) throw new RangeError('data must be bytes in hex')
  return toBytes(data)
}
