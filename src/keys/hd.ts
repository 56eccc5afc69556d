/**
 * Hierarchical deterministic keys: one BIP-39 seed per tenant, BIP-32 keys at the BIP-44 paths of Ethereum. Seeds and keys
 * stay inside this closure; what leaves it are addresses, hashes and signed bytes.
 */
import { HDNodeWallet, Mnemonic } from 'ethers'
import { LRUCache } from 'lru-cache'
import { signRecoverable } from 'tiny-secp256k1'
import { signEip191 } from './eip191.ts'
import { signEip712 } from './eip712.ts'
import { signEip1559 } from './eip1559.ts'
import type { CreatedKey, KeyMaker, KeyRef, SignedTransaction, Signer, SigningRequest } from './signer.ts'
import type { TenantSeeds } from './tenant-seeds.ts'

/** BIP-44: purpose 44', coin 60' (SLIP-44: Ether, used by all EVM chains), account 0', external chain 0. */
const ACCOUNT_PATH = "m/44'/60'/0'/0"
/** Indexes from 2^31 on are hardened (BIP-32). */
const MAX_INDEX = 2 ** 31 - 1
const DEFAULT_CACHED_KEYS = 10_000
const CACHED_TENANTS = 1_000
/** After so many signatures, about 10 ms, other work of the process gets its turn: leases must be renewed meanwhile. */
const SIGNATURES_PER_TURN = 50

type HdRef = Extract<KeyRef, { kind: 'hd' }>

/** Private, so that neither JSON nor an inspection of the object shows the secret. */
class DerivedKey {
  readonly address: string
  readonly #secret: Uint8Array

  constructor(address: string, secret: Uint8Array) {
    this.address = address
    this.#secret = secret
  }

  /** RFC 6979: the same digest gives the same signature. libsecp256k1 gives the lower s (EIP-2). */
  sign(digest: Uint8Array) {
    return signRecoverable(digest, this.#secret)
  }
}

/** The BIP-44 path of a wallet's key: `m/44'/60'/0'/0/<index>`. */
export function hdPath(index: number): string {
  if (!Number.isInteger(index) || index < 0 || index > MAX_INDEX)
    throw new RangeError(`an index is a whole number from 0 to ${MAX_INDEX}`)
  return `${ACCOUNT_PATH}/${index}`
}

/**
 * The node from which the keys of a seed are derived.
 *
 * @param entropy 16 to 32 bytes (BIP-39); without a passphrase
 */
export function hdAccount(entropy: Uint8Array): HDNodeWallet {
  return HDNodeWallet.fromSeed(Mnemonic.fromEntropy(entropy).computeSeed()).derivePath(ACCOUNT_PATH)
}

/**
 * Signs with keys derived from the tenants' seeds. `createKey` makes a tenant's seed on first use; signing never does.
 *
 * @param cachedKeys how many derived keys are kept in memory, the least recently used go first
 */
export function createHdSigner({
  seeds,
  cachedKeys = DEFAULT_CACHED_KEYS,
}: {
  seeds: TenantSeeds
  cachedKeys?: number
}): Signer & KeyMaker {
  const accounts = new LRUCache<string, HDNodeWallet>({ max: CACHED_TENANTS })
  const keys = new LRUCache<string, DerivedKey>({ max: cachedKeys })

  async function keyOf(ref: HdRef, loadSeed: (tenantId: string) => Promise<Uint8Array>): Promise<DerivedKey> {
    const path = hdPath(ref.index)
    const name = `${ref.tenantId} ${path}`
    const known = keys.get(name)
    if (known) return known
    let account = accounts.get(ref.tenantId)
    if (account === undefined) {
      account = hdAccount(await loadSeed(ref.tenantId))
      accounts.set(ref.tenantId, account)
    }
    const { address, privateKey } = account.deriveChild(ref.index)
    const key = new DerivedKey(address, Buffer.from(privateKey.slice(2), 'hex'))
    keys.set(name, key)
    return key
  }

  return {
    async createKey(ref): Promise<CreatedKey> {
      return {
        key: { kind: 'hd', tenantId: ref.tenantId, index: ref.index },
        address: (await keyOf(ref, seeds.loadOrCreate)).address,
      }
    },

    async signTransactions(requests: readonly SigningRequest[]): Promise<readonly SignedTransaction[]> {
      const signed: SignedTransaction[] = []
      for (const { key: ref, transaction } of requests) {
        const key = await keyOf(requireHd(ref), seeds.load)
        signed.push(signEip1559(transaction, (digest) => key.sign(digest)))
        if (signed.length % SIGNATURES_PER_TURN === 0) await new Promise(setImmediate)
      }
      return signed
    },

    async signTypedData({ key: ref, typedData }) {
      const key = await keyOf(requireHd(ref), seeds.load)
      return signEip712(typedData, (digest) => key.sign(digest))
    },

    async signMessage({ key: ref, message }) {
      const key = await keyOf(requireHd(ref), seeds.load)
      return signEip191(message, (digest) => key.sign(digest))
    },
  }
}

function requireHd<T extends { readonly kind: string }>(ref: T): Extract<T, { kind: 'hd' }> {
  if (ref.kind !== 'hd') throw new TypeError(`this signer has no ${ref.kind} keys`)
  return ref as Extract<T, { kind: 'hd' }>
}
