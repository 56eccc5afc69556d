/**
 * Contracts that a capability deployed and keeps records of: only its own routes may call them and have data for them signed,
 * since others would go past its records. Addresses are EIP-55. Types alone.
 */
import type { Pool } from 'pg'

/** A token in such a contract that an open transfer of a wallet moves. */
export type TokenInTransfer = {
  readonly contract: string
  readonly standard: 'ERC721' | 'ERC1155'
  readonly tokenId: bigint
  readonly transferId: string
}

export type ManagedContracts = {
  /** Whether this service sends the transactions of a contract. */
  readonly isManaged: (chainId: number, address: string) => Promise<boolean>
  /** Whether only the service itself makes this call: such as a mint of a collection. */
  readonly isManagedCall: (chainId: number, call: { readonly to: string; readonly data: string }) => Promise<boolean>
  /** Each token once. */
  readonly tokensInTransfer: (wallet: {
    readonly chainId: number
    readonly address: string
  }) => Promise<readonly TokenInTransfer[]>
}

declare module '../capability.ts' {
  interface Capability {
    /** The contracts that it manages. What one of the capabilities manages, no other calls. */
    readonly manages?: (pool: Pool) => ManagedContracts
  }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly managed: ManagedContracts
  }
}
