/**
 * What was known of a tenant at each time of the past, event by event in the order of the log: with it requests of the past are judged
 * as they would have been then. Memory grows with wallets, tokens and collections, not with requests. Pure.
 */
import { tokenAsset } from '../core/assets.ts'
import type { Network } from '../core/networks.ts'
import type { AssetRef } from '../transactions/intent.ts'
import type { Facts, KnownChain } from './facts.ts'
import type { Price } from './intent.ts'

/** What an event says that requests are judged by later. Addresses as they are recorded. */
export type PastFact =
  | ({ readonly is: 'wallet'; readonly walletId: string } & PastWallet)
  /** Bursar holds the key of the wallet. */
  | { readonly is: 'address'; readonly address: string }
  | { readonly is: 'token'; readonly chainId: number; readonly contract: string; readonly asset: AssetRef | null }
  | { readonly is: 'collection'; readonly chainId: number; readonly contract: string }
  /** The next event of the stream is a voucher for it; `null` for anybody. */
  | { readonly is: 'minting'; readonly id: string; readonly recipient: string | null }
  | { readonly is: 'price'; readonly assetId: string; readonly price: Price }

/** What does not change is missing. */
export type PastWallet = {
  readonly place?: { readonly network: Network; readonly chainId: number }
  readonly tags?: readonly string[]
}

export type PastFacts = {
  readonly learn: (fact: PastFact) => void
  readonly walletOf: (walletId: string) => PastWallet
  /** Who gets what was last recorded to be minted, by the id of the mint. */
  readonly recipientOf: (mintId: string) => string | null
  /** What does not depend on the request. */
  readonly facts: Omit<Facts, 'actor' | 'tags' | 'priceOf'>
  /** The newest price by then. */
  readonly priceOf: (assetId: string) => Price | null
}

/** @param chains as they are configured now: their tokens and exchanges count as known at all times */
export function createPastFacts(
  chains: readonly KnownChain[],
  spendersOf: (chain: KnownChain) => readonly string[],
): PastFacts {
  const wallets = new Map<string, PastWallet>()
  const addresses = new Set<string>()
  const collections = new Set<string>()
  const prices = new Map<string, Price>()
  let minting = { id: '', recipient: null as string | null }
  const registered = new Map<string, AssetRef>()
  const configured = new Map<string, AssetRef>(
    chains.flatMap(({ chainId, tokens }) =>
      tokens.map(
        (token) =>
          [keyOf(chainId, token.address), tokenAsset(chainId, token.address, token.symbol, token.decimals)] as const,
      ),
    ),
  )
  const spenders = new Set(chains.flatMap((chain) => spendersOf(chain).map((spender) => keyOf(chain.chainId, spender))))

  function learnToken(key: string, asset: AssetRef | null): void {
    if (asset === null) registered.delete(key)
    else registered.set(key, asset)
  }

  const facts: PastFacts['facts'] = {
    tokenOf: (chainId, contract) =>
      configured.get(keyOf(chainId, contract)) ?? registered.get(keyOf(chainId, contract)) ?? null,
    isOwn: (address) => addresses.has(address),
    isCollection: (chainId, contract) => collections.has(keyOf(chainId, contract)),
    isOwnSpender: (chainId, address) => spenders.has(keyOf(chainId, address)),
  }
  return {
    facts,
    priceOf: (assetId) => prices.get(assetId) ?? null,
    learn(fact) {
      switch (fact.is) {
        case 'wallet': {
          const { is: _, walletId, ...wallet } = fact
          wallets.set(walletId, { ...wallets.get(walletId), ...wallet })
          break
        }
        case 'address':
          addresses.add(fact.address.toLowerCase())
          break
        case 'token':
          learnToken(keyOf(fact.chainId, fact.contract), fact.asset)
          break
        case 'collection':
          collections.add(keyOf(fact.chainId, fact.contract))
          break
        case 'minting':
          minting = fact
          break
        case 'price':
          prices.set(fact.assetId, fact.price)
          break
        default:
          return fact satisfies never
      }
    },
    recipientOf: (mintId) => (minting.id === mintId ? minting.recipient : null),
    walletOf: (walletId) => wallets.get(walletId) ?? {},
  }
}

function keyOf(chainId: number, contract: string): string {
  return `${chainId}/${contract.toLowerCase()}`
}
