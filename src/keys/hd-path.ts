/** Where the keys of wallets lie below a seed: BIP-44, so that any other program finds them from the words alone. */
import { HDNodeWallet, Mnemonic } from 'ethers'

/** BIP-44: purpose 44', coin 60' (SLIP-44: Ether, used by all EVM chains), account 0', external chain 0. */
export const HD_ACCOUNT_PATH = "m/44'/60'/0'/0"
/** Indexes from 2^31 on are hardened (BIP-32). */
const MAX_INDEX = 2 ** 31 - 1

/** The BIP-44 path of a wallet's key: `m/44'/60'/0'/0/<index>`. */
export function hdPath(index: number): string {
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX)
    throw new RangeError(`an index is a whole number from 0 to ${MAX_INDEX}`)
  return `${HD_ACCOUNT_PATH}/${index}`
}

/**
 * The node from which the keys of a seed are derived.
 *
 * @param entropy 16 to 32 bytes (BIP-39); without a passphrase
 */
export function hdAccount(entropy: Uint8Array): HDNodeWallet {
  return HDNodeWallet.fromSeed(Mnemonic.fromEntropy(entropy).computeSeed()).derivePath(HD_ACCOUNT_PATH)
}

/** The words of a seed (BIP-39, English): 24 for 32 bytes. */
export function seedWords(entropy: Uint8Array): string {
  return Mnemonic.fromEntropy(entropy).phrase
}
