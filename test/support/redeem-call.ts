/** The call by which a holder of a voucher redeems it. The service itself mints without showing a signature. */
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import type { Voucher } from '../../src/nft/contracts/voucher.ts'

const ANYONE = `0x${'00'.repeat(20)}`

/**
 * Call data that redeems a voucher.
 *
 * @param signature 65 bytes (r, s, v) of the owner's key, or a signature that its ERC-1271 contract accepts
 * @param to the voucher's recipient; for a voucher without one, the sender, or any address when the owner sends
 */
export function encodeRedeem(voucher: Voucher, signature: string, to: string): string {
  const { tokenId, recipient, amount, digest, validUntil } = voucher
  const values = { tokenId, recipient: recipient ?? ANYONE, amount, digest, validUntil: validUntil ?? 0 }
  return COLLECTION_ABI.ERC721.encodeFunctionData('redeem', [values, signature, to])
}
