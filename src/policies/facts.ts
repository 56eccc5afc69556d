/** What is known beside an event when it is judged, and what follows from it. Pure. */
import type { ChainSettings } from '../chain/settings.ts'
import type { AssetRef } from '../transactions/intent.ts'
import { ANYTHING, type Any, keyOf, type Moved, type Price } from './intent.ts'

/** What is known beside the event, as of its time. */
export type Facts = {
  /** The `actor` of the metadata. */
  readonly actor: string
  /** Of the wallet. */
  readonly tags: readonly string[]
  /** By the id of an asset; `null` if it was not known. */
  readonly priceOf: (assetId: string) => Price | null
  /** An ERC-20 token that the tenant can use. @param contract in lower case */
  readonly tokenOf: (chainId: number, contract: string) => AssetRef | null
  /** Whether a wallet of the tenant has an address in lower case. */
  readonly isOwn: (address: string) => boolean
  /** Whether a contract, in lower case, is a collection that this service deployed. */
  readonly isCollection: (chainId: number, contract: string) => boolean
  /** Whether what this installation sends may let a contract, in lower case, take what it sells: an exchange of its settings. */
  readonly isOwnSpender: (chainId: number, address: string) => boolean
}

/** @param amount base units */
export function movedOf(chainId: number, asset: AssetRef, amount: bigint, { priceOf }: Pick<Facts, 'priceOf'>): Moved {
  const { assetId, contract, symbol, decimals } = asset
  return { key: keyOf(chainId, contract), symbol, decimals, amount, price: priceOf(assetId) }
}

/** What moves of the contract of a token or of NFTs, which may be unknown. @param contract in lower case */
export function tokenMoved(chainId: number, contract: string, amount: bigint | Any, facts: Facts): Moved {
  const known = facts.tokenOf(chainId, contract)
  if (known !== null) return { ...movedOf(chainId, known, 0n, facts), amount }
  return { ...ANYTHING, key: keyOf(chainId, contract), amount }
}

/** What policies know of a chain from the settings. */
export type KnownChain = Pick<ChainSettings, 'chainId' | 'tokens'> & Partial<ChainSettings>

declare module '../capability.ts' {
  interface Capability {
    /** Contracts of the settings of a chain that its transactions may let take what they sell. */
    readonly spenders?: (chain: KnownChain) => readonly string[]
  }
}
