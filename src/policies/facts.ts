/** What is known beside an event when it is judged, and what follows from it. Pure. */
import type { Pool } from 'pg'
import type { ChainSettings } from '../chain/settings.ts'
import type { Context } from '../context.ts'
import type { AssetRef } from '../transactions/intent.ts'
import { ANYTHING, type Any, keyOf, type Moved, type Price } from './intent.ts'
import type { Changes } from './log-facts.ts'

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

/** Contracts that a capability deploys for tenants, whose tokens it knows. Addresses are in lower case. */
export type KnownCollections = {
  /** Those of the contracts that are collections of the tenant. */
  readonly among: (
    pool: Pool,
    tenantId: string,
    chainId: number,
    contracts: readonly string[],
  ) => Promise<readonly string[]>
  /** Whether the log has the contract as a collection of the tenant. */
  readonly recorded: (
    needs: Pick<Context, 'log' | 'pool'>,
    tenantId: string,
    chainId: number,
    contract: string,
  ) => Promise<Changes<boolean>>
}

declare module '../capability.ts' {
  interface Capability {
    /** The collections that it knows. What nobody knows is judged as any contract. */
    readonly collections?: KnownCollections
    /** Contracts of the settings of a chain that its transactions may let take what they sell. */
    readonly spenders?: (chain: KnownChain) => readonly string[]
  }
}
