/**
 * Hierarchical deterministic keys: one BIP-39 seed per tenant, BIP-32 keys at the BIP-44 paths of Ethereum. Seeds and
 * keys never leave this closure, only addresses, hashes and signed bytes. A seed is wiped after its account is derived;
 * accounts and keys are wiped when they leave the cache.
 *
 * The sender of signed bytes is the address of the key that signed them. It is derived from the secret once, when the
 * key is, and not recovered from each signature, which costs more than the signature itself. If the arithmetic ever
 * failed, the bytes would have another sender, one that nobody chose: nodes refuse them, since it has no funds, and the
 * wallet pays nothing.
 */
import { LRUCache } from 'lru-cache'
import { signEip191 } from './eip191.ts'
import { signEip712 } from './eip712.ts'
import { signEip1559 } from './eip1559.ts'
import { childKey, type HdKey } from './hd-key.ts'
import { type HdAccount, hdAccount, hdPath } from './hd-path.ts'
import type { CreatedKey, KeyMaker, KeyRef, ProvenTransaction, Signer, SigningRequest } from './signer.ts'
import type { TenantSeeds } from './tenant-seeds.ts'

const DEFAULT_CACHED_KEYS = 10_000
const CACHED_TENANTS = 1_000
/** After this many signatures, about 10 ms, the event loop gets a turn, so that leases can be renewed. */
const SIGNATURES_PER_TURN = 50

type HdRef = Extract<KeyRef, { kind: 'hd' }>

/**
 * Signs with keys derived from the tenants' seeds. `createKey` creates a tenant's seed on first use; signing never
 * does.
 *
 * @param cachedKeys number of derived keys kept in memory; the least recently used go first
 */
export function createHdSigner({
  seeds,
  cachedKeys = DEFAULT_CACHED_KEYS,
}: {
  seeds: TenantSeeds
  cachedKeys?: number
}): Signer & KeyMaker {
  const accounts = new LRUCache<string, HdAccount>({ max: CACHED_TENANTS, dispose: (account) => account.wipe() })
  const keys = new LRUCache<string, HdKey>({ max: cachedKeys, dispose: (key) => key.wipe() })

  /**
   * Passes a key to `use`, which must be finished with it when it returns.
   *
   * Invariant: nothing is awaited between taking a key from the cache and using it. A key that leaves the cache is
   * wiped.
   */
  async function withKey<T>(
    ref: HdRef,
    loadSeed: (tenantId: string) => Promise<Uint8Array>,
    use: (key: HdKey) => T,
  ): Promise<T> {
    const name = `${ref.tenantId} ${hdPath(ref.index)}`
    const known = keys.get(name)
    if (known !== undefined) return use(known)
    if (!accounts.has(ref.tenantId)) {
      const seed = await loadSeed(ref.tenantId)
      try {
        // A concurrent request may have set it already: setting it again would wipe the account that request uses.
        if (!accounts.has(ref.tenantId)) accounts.set(ref.tenantId, hdAccount(seed))
      } finally {
        seed.fill(0)
      }
    }
    const account = accounts.get(ref.tenantId)
    if (account === undefined) throw new Error('a stored account is missing')
    const key = keys.get(name) ?? childKey(account, ref.index)
    keys.set(name, key)
    return use(key)
  }

  return {
    async createKey(ref): Promise<CreatedKey> {
      const address = await withKey(ref, seeds.loadOrCreate, (key) => key.address)
      return { key: { kind: 'hd', tenantId: ref.tenantId, index: ref.index }, address }
    },

    async signTransactions(requests: readonly SigningRequest[]): Promise<readonly ProvenTransaction[]> {
      const signed: ProvenTransaction[] = []
      for (const { key: ref, transaction } of requests) {
        const sign = (key: HdKey) => ({
          ...signEip1559(transaction, (digest) => key.sign(digest)),
          sender: key.address,
        })
        signed.push(await withKey(requireHd(ref), seeds.load, sign))
        if (signed.length % SIGNATURES_PER_TURN === 0) await new Promise(setImmediate)
      }
      return signed
    },

    signTypedData: async ({ key: ref, typedData }) =>
      withKey(requireHd(ref), seeds.load, (key) => signEip712(typedData, (digest) => key.sign(digest))),

    signMessage: async ({ key: ref, message }) =>
      withKey(requireHd(ref), seeds.load, (key) => signEip191(message, (digest) => key.sign(digest))),
  }
}

function requireHd<T extends { readonly kind: string }>(ref: T): Extract<T, { kind: 'hd' }> {
  if (ref.kind !== 'hd') throw new TypeError(`this signer has no ${ref.kind} keys`)
  return ref as Extract<T, { kind: 'hd' }>
}
