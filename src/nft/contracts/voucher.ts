/** Vouchers of lazy mints: the EIP-712 message that the owner signs, valid for one collection. */
import { TypedDataEncoder } from 'ethers/hash'
import { OWN_DOMAIN } from '../../keys/own-domain.ts'

/** The owner's signed permission to mint one token. */
export type Voucher = {
  readonly tokenId: bigint
  /** The recipient of the token; `null` for whoever redeems. */
  readonly recipient: string | null
  /** Units of the token; 1 for ERC-721. */
  readonly amount: bigint
  /** SHA-256 of the token's metadata. */
  readonly digest: string
  /** The last second (Unix time) at which it can be redeemed; `null` if it never expires. */
  readonly validUntil: number | null
}

/** A voucher in the format of `eth_signTypedData_v4`; numbers are decimal strings. */
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

/** The typed data of a collection's voucher: valid only for that contract on that chain. */
export function voucherTypedData(chainId: number, collection: string, voucher: Voucher): VoucherTypedData {
  return {
    domain: { ...OWN_DOMAIN, chainId, verifyingContract: collection },
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

/** The 32-byte digest that the owner's key signs. */
export function voucherHash({ domain, types, message }: VoucherTypedData): string {
  return TypedDataEncoder.hash(domain, types, message)
}
