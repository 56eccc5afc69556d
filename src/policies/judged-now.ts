/** What a request is judged as now: the facts that its intents ask for, gathered with few questions. */
import type { PolicyPart } from '../core/policy-part.ts'
import type { Owner } from '../core/tenants.ts'
import type { AssetRef } from '../transactions/intent.ts'
import type { Facts } from './facts.ts'
import type { Judged, Price } from './intent.ts'

/** Where facts of now come from. Addresses are in lower case. No answer may be older than a minute: signers judge once more. */
export type FactSources = {
  readonly tagsOf: (walletId: string) => Promise<readonly string[]>
  readonly assetsOf: (tenantId: string, chainId: number) => Promise<KnownAssets>
  /** Those of the addresses that are of wallets of the owner whose keys this installation has. */
  readonly ownAmong: (owner: Owner, addresses: readonly string[]) => Promise<ReadonlySet<string>>
  /** Those of the contracts that are collections of the tenant. */
  readonly collectionsAmong: (
    tenantId: string,
    chainId: number,
    contracts: readonly string[],
  ) => Promise<ReadonlySet<string>>
  readonly isOwnSpender: Facts['isOwnSpender']
}

export type KnownAssets = {
  readonly tokenOf: (contract: string) => AssetRef | null
  readonly priceOf: (assetId: string) => Price | null
}

/** `null`: it is about no wallet. */
export type Place = Owner & { readonly walletId: string | null; readonly chainId: number | null }

export type JudgedNow = { readonly request: Judged } & Pick<PolicyPart, 'tags' | 'prices'>

const NO_ASSETS: KnownAssets = { tokenOf: () => null, priceOf: () => null }

/**
 * @param read pure; it is called again with the facts that it asked for
 * @param asked whether a rule asks for the wallets of the tenant, and for prices
 */
export async function judgedNow(
  sources: FactSources,
  { tenantId, environment, walletId, chainId }: Place,
  { actor, asked }: { readonly actor: string; readonly asked: { readonly own: boolean; readonly prices: boolean } },
  read: (facts: Facts) => Judged,
): Promise<JudgedNow> {
  // One after the other: almost always both are known, and waiting for both together costs more than either.
  const tags = walletId === null ? [] : await sources.tagsOf(walletId)
  const { tokenOf, priceOf } = chainId === null ? NO_ASSETS : await sources.assetsOf(tenantId, chainId)
  const prices = new Map<string, Price>()
  const [own, collections] = [new Answers(), new Answers()]
  const facts: Facts = {
    actor,
    tags,
    priceOf(assetId) {
      const price = priceOf(assetId)
      if (price !== null) prices.set(assetId, price)
      return price
    },
    tokenOf: (_chainId, contract) => tokenOf(contract),
    isOwn: (address) => asked.own && own.has(address),
    isCollection: (_chainId, contract) => collections.has(contract),
    isOwnSpender: sources.isOwnSpender,
  }
  for (;;) {
    const request = read(facts)
    if (!own.isAsked && !collections.isAsked)
      return asked.prices ? { request, tags, prices: recordedPrices(prices) } : { request, tags }
    await Promise.all([
      own.fill((addresses) => sources.ownAmong({ tenantId, environment }, addresses)),
      collections.fill((contracts) => sources.collectionsAmong(tenantId, chainId ?? 0, contracts)),
    ])
  }
}

/** What was asked, and what is known of it. Most requests ask nothing. */
class Answers {
  private known: Map<string, boolean | null> | null = null
  isAsked = false

  has(name: string): boolean {
    this.known ??= new Map()
    const answer = this.known.get(name) ?? null
    if (answer === null) {
      this.known.set(name, null)
      this.isAsked = true
    }
    return answer ?? false
  }

  async fill(ask: (names: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    const { known } = this
    if (!this.isAsked || known === null) return
    const names = [...known].flatMap(([name, answer]) => (answer === null ? [name] : []))
    const found = await ask(names)
    for (const name of names) known.set(name, found.has(name))
    this.isAsked = false
  }
}

/** In one order, whatever the order in which they were asked for. */
function recordedPrices(prices: ReadonlyMap<string, Price>): NonNullable<PolicyPart['prices']> {
  if (prices.size === 0) return []
  return [...prices]
    .map(([assetId, { usd, at }]) => ({ assetId, usd, at }))
    .sort((a, b) => (a.assetId < b.assetId ? -1 : 1))
}
