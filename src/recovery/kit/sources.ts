/** The sources of a kit's secrets on the machine of a holder: ports, since each machine has only some of them. */
import type { Environment, Network } from '../../core/networks.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import type { WalletKey } from '../../wallets/events.ts'

/** A wallet whose key Bursar holds, as recorded by the service. */
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

/** The shares of one party. */
export type PartyShareSource = {
  readonly party: number
  /**
   * The share of the epoch in the log; `undefined` when the party has none.
   *
   * @throws Unavailable when it cannot be opened
   */
  readonly load: (key: JointKey) => Promise<Uint8Array | undefined>
}

export type KitSources = {
  /** @param tenantId one tenant; `null` for all */
  readonly wallets: (tenantId: string | null) => Promise<readonly SourceWallet[]>
  /** Of wallets and of the pool, since a pooled key may become a wallet's. */
  readonly jointKeys: () => Promise<readonly JointKey[]>
  /** `null` without a keystore. */
  readonly seeds: TenantSeedSource | null
  /** The parties whose stores are on this machine. */
  readonly parties: readonly PartyShareSource[]
}

/** The tenants whose seeds were restored, and those whose seeds already existed. */
export type RestoredSeeds = { readonly restored: readonly string[]; readonly unchanged: readonly string[] }

/**
 * Restores seeds, by tenant, into the keystore of this machine.
 *
 * @param options.force also a seed from which none of the wallets of its tenant comes
 * @throws KitRefused for such a seed, before any is restored; Conflict when a tenant has another seed there;
 *   Unavailable when the keystore cannot be opened
 */
export type RestoreSeeds = (
  seeds: ReadonlyMap<string, Uint8Array>,
  options: { readonly force: boolean },
) => Promise<RestoredSeeds>
