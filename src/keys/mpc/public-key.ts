/** Public keys in the encoding of the parties and the log. */
import { computeAddress } from 'ethers/transaction'

/** The address of a compressed public key (SEC 1, 33 bytes), with its EIP-55 checksum. */
export function publicKeyAddress(publicKey: Uint8Array): string {
  return computeAddress(`0x${Buffer.from(publicKey).toString('hex')}`)
}
