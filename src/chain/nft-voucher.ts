/** Vouchers of lazy mints: what an owner signs by EIP-712, and the call that brings it to the contract. */
import { TypedDataEncoder } from 'ethers/hash'
import { COLLECTION_ABI } from './nft-artefact.ts'

/** The owner's word that one token may be minted. */
export type Voucher = {
  readonly tokenId: bigint
  /** Who gets the token; `null` for whoever redeems. */
  readonly recipient: string | null
  /** Units of the token; 1 in ERC-721. */
  readonly amount: bigint
  /** SHA-256 of the token's metadata. */
  readonly digest: string
  /** The last second (Unix time) at which it can be redeemed; `null` for no end. */
  readonly validUntil: number | null
}

/** A voucher as wallets take it (`eth_signTypedData_v4`); numbers are decimal strings, as JSON can carry them. */
export type VoucherTypedData = {
  readonly domain: {
    readonly name: string
    readonly version: string
    readonly chainId: number
    readonly verifyingContract: string
  }
  readonly types: { readonly Voucher: { readonly name: string; readonly type: string }[] }
  readonly primaryType: 'Voucher'
  readonly message: {
    readonly tokenId: string
    readonly recipient: string
    readonly amount: string
    readonly digest: string
    readonly validUntil: string
  }
}

const ANYONE = `0x${'00'.repeat(20)}`

/** What is signed for a voucher of a collection: it holds for that contract on that chain alone. */
export function voucherTypedData(chainId: number, collection: string, voucher: Voucher): VoucherTypedData {
  return {
    domain: { name: 'Bursar', version: '1', chainId, verifyingContract: collection },
    types: {
      Voucher: [
        { name: 'tokenId', type: 'uint256' },
        { name: 'recipient', type: 'address' },
        { name: 'amount', type: 'uint256' },
        { name: 'digest', type: 'bytes32' },
        { name: 'validUntil', type: 'uint256' },
      ],
    },
    primaryType: 'Voucher',
    message: {
      tokenId: voucher.tokenId.toString(),
      recipient: voucher.recipient ?? ANYONE,
      amount: voucher.amount.toString(),
      digest: voucher.digest,
      validUntil: (voucher.validUntil ?? 0).toString(),
    },
  }
}

/** The 32 bytes that the owner's key signs. */
export function voucherHash({ domain, types, message }: VoucherTypedData): string {
  return TypedDataEncoder.hash(domain, types, message)
}

/**
 * Call data that redeems a voucher.
 *
 * @param signature 65 bytes (r, s, v) of the owner's key, or what its ERC-1271 contract accepts
 * @param to the recipient that the voucher names; where it names none, the sender itself, or anybody if the owner sends
 */
export function encodeRedeem(voucher: Voucher, signature: string, to: string): string {
  const { tokenId, recipient, amount, digest, validUntil } = voucher
  const values = { tokenId, recipient: recipient ?? ANYONE, amount, digest, validUntil: validUntil ?? 0 }
  return COLLECTION_ABI.ERC721.encodeFunctionData('redeem', [values, signature, to])
}
