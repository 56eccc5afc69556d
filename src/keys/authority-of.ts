/** The signer of an EIP-7702 authorization: the account whose nonce it uses. */
import { encodeRlp, getBytes, keccak256, toBeArray } from 'ethers'
import { HALF_ORDER } from './recover-signer.ts'
import { recoveredAddress } from './recovered-address.ts'

const MAGIC = '0x05'

/** The signed fields and the signature. */
export type SignedAuthorization = {
  readonly chainId: bigint
  readonly address: string
  readonly nonce: bigint
  readonly yParity: 0 | 1
  readonly r: bigint
  readonly s: bigint
}

/** Lower case; `null` when the signature is invalid or ignored by the chain (EIP-2). */
export function authorityOf({ chainId, address, nonce, yParity, r, s }: SignedAuthorization): string | null {
  if (s > HALF_ORDER) return null
  const fields = encodeRlp([toBeArray(chainId), address, toBeArray(nonce)])
  const signature = Buffer.from(word(r) + word(s), 'hex')
  return recoveredAddress(getBytes(keccak256(`${MAGIC}${fields.slice(2)}`)), signature, yParity)
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}
