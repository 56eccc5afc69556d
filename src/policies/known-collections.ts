/** What policies ask of those that deploy collections of tokens. Types alone. */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import type { Changes } from './log-facts.ts'

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
  }
}
