/** The sources of a kit's secrets on the machine of a holder: ports, since each machine has only some of them. */
import type { Environment, Network } from '../../core/networks.ts'
import type { JointKey } from '../../keys/mpc/ceremonies.ts'
import type { WalletKey } from '../../wallets/events.ts'
import type { KitSigner } from './kit-signature.ts'

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
  /** Of the keystore; without one, of the first party. `null` when this machine has neither. */
  readonly signer: KitSigner | null
}

/** A seed of a kit, and the key that signed it; `null` when nobody did. */
export type OfferedSeed = { readonly entropy: Uint8Array; readonly signedBy: string | null }

/** The tenants whose seeds were restored, and those whose seeds already existed. */
export type RestoredSeeds = { readonly restored: readonly string[]; readonly unchanged: readonly string[] }

/**
 * Restores seeds, by tenant, into the keystore of this machine: all of them or none.
 *
 * @param options.force also a seed that contradicts the wallets of its tenant, or that nothing proves to be of this installation
 * @param options.trusted the keys that the operator named
 * @throws KitRefused for such a seed; Conflict when a tenant has another seed there; Unavailable when the keystore cannot
 *   be opened. Nothing is restored then
 */
export type RestoreSeeds = (
  seeds: ReadonlyMap<string, OfferedSeed>,
  options: { readonly force: boolean; readonly trusted: readonly string[] },
) => Promise<RestoredSeeds>
