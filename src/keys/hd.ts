/**
 * Hierarchical deterministic keys: one BIP-39 seed per tenant, BIP-32 keys at the BIP-44 paths of Ethereum. Seeds and keys
 * stay inside this closure; what leaves it are addresses, hashes and signed bytes.
 */
import type { HDNodeWallet } from 'ethers'
import { LRUCache } from 'lru-cache'
import { signEip191 } from './eip191.ts'
import { signEip712 } from './eip712.ts'
import { signEip1559 } from './eip1559.ts'
import { childKey, type HdKey } from './hd-key.ts'
import { hdAccount, hdPath } from './hd-path.ts'
import type { CreatedKey, KeyMaker, KeyRef, SignedTransaction, Signer, SigningRequest } from './signer.ts'
import type { TenantSeeds } from './tenant-seeds.ts'

const DEFAULT_CACHED_KEYS = 10_000
const CACHED_TENANTS = 1_000
/** After so many signatures, about 10 ms, other work of the process gets its turn: leases must be renewed meanwhile. */
const SIGNATURES_PER_TURN = 50

type HdRef = Extract<KeyRef, { kind: 'hd' }>

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
  const keys = new LRUCache<string, HdKey>({ max: cachedKeys })

  async function keyOf(ref: HdRef, loadSeed: (tenantId: string) => Promise<Uint8Array>): Promise<HdKey> {
    const path = hdPath(ref.index)
    const name = `${ref.tenantId} ${path}`
    const known = keys.get(name)
    if (known) return known
    let account = accounts.get(ref.tenantId)
    if (account === undefined) {
      account = hdAccount(await loadSeed(ref.tenantId))
      accounts.set(ref.tenantId, account)
    }
    const key = childKey(account, ref.index)
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
