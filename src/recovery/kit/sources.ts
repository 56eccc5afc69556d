/** Where the secrets of a kit come from, on the machine of whoever holds them: ports, since each machine has some of them. */
import type { Environment, Network } from '../../core/networks.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import type { WalletKey } from '../../wallets/events.ts'

/** A wallet with a key of ours, as the service knows it. */
export type SourceWallet = {
  readonly walletId: string
  readonly tenantId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** EIP-55. */
  readonly address: string
  readonly label: string
  readonly status: string
  readonly key: WalletKey
}

export type TenantSeedSource = {
  readonly tenants: () => Promise<readonly string[]>
  /** @throws Unavailable when the tenant has none, or why it cannot be opened */
  readonly load: (tenantId: string) => Promise<Uint8Array>
}

/** What one party holds. */
export type PartyShareSource = {
  readonly party: number
  /**
   * The share of the epoch that the log names; `undefined` when the party has none of it.
   *
   * @throws Unavailable when it cannot be opened
   */
  readonly load: (key: JointKey) => Promise<Uint8Array | undefined>
}

export type KitSources = {
  /** @param tenantId of one tenant; of all when it is `null` */
  readonly wallets: (tenantId: string | null) => Promise<readonly SourceWallet[]>
  /** Of wallets and made ahead: one that is made ahead may be a wallet's tomorrow. */
  readonly jointKeys: () => Promise<readonly JointKey[]>
  /** `null` where no keystore is. */
  readonly seeds: TenantSeedSource | null
  /** The parties whose stores are on this machine. */
  readonly parties: readonly PartyShareSource[]
}

/** The tenants whose seeds were put back, and those whose seeds were there already. */
export type RestoredSeeds = { readonly restored: readonly string[]; readonly unchanged: readonly string[] }

/**
 * Puts seeds, by tenant, into the keystore of this machine.
 *
 * @throws Conflict when a tenant has another seed there; Unavailable when the keystore cannot be opened
 */
export type RestoreSeeds = (seeds: ReadonlyMap<string, Uint8Array>) => Promise<RestoredSeeds>
