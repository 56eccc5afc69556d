/** The derivation paths of wallet keys: BIP-44, so that other programs find them from the seed words alone. */
import { Mnemonic } from 'ethers'
import { childOf, type ExtendedKey, HARDENED, masterKey, wipe } from './bip32.ts'
import { seedOfEntropy } from './bip39.ts'

/** BIP-44: purpose 44', coin 60' (SLIP-44: Ether, used by all EVM chains), account 0', external chain 0. */
export const HD_ACCOUNT_PATH = "m/44'/60'/0'/0"
const ACCOUNT_INDEXES = [HARDENED + 44, HARDENED + 60, HARDENED, 0]
const MAX_INDEX = HARDENED - 1

/** The BIP-44 path of a wallet's key: `m/44'/60'/0'/0/<index>`. */
export function hdPath(index: number): string {
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX)
    throw new RangeError(`an index must be a whole number from 0 to ${MAX_INDEX}`)
  return `${HD_ACCOUNT_PATH}/${index}`
}

/**
 * The account key from which the keys of a seed are derived. Its bytes are private, so that neither JSON nor object
 * inspection shows them.
 */
export class HdAccount {
  readonly #node: ExtendedKey

  constructor(node: ExtendedKey) {
    this.#node = node
  }

  /**
   * The private key of an index, 32 bytes, for the caller to wipe. @throws RangeError for an index that BIP-32 does not
   * define
   */
  keyAt(index: number): Uint8Array {
    hdPath(index)
    const { key, chainCode } = childOf(this.#node, index)
    chainCode.fill(0)
    return key
  }

  /** No key can be derived afterwards. */
  wipe(): void {
    wipe(this.#node)
  }
}

/**
 * The account of a seed, for the caller to wipe.
 *
 * @param entropy 16 to 32 bytes (BIP-39), used without a passphrase
 */
export function hdAccount(entropy: Uint8Array): HdAccount {
  const seed = seedOfEntropy(entropy)
  let node = masterKey(seed)
  seed.fill(0)
  for (const index of ACCOUNT_INDEXES) {
    const child = childOf(node, index)
    wipe(node)
    node = child
  }
  return new HdAccount(node)
}

/** The words of a seed (BIP-39, English): 24 for 32 bytes. A string cannot be wiped: only for recovery kits. */
export function seedWords(entropy: Uint8Array): string {
  return Mnemonic.fromEntropy(entropy).phrase
}
