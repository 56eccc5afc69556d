/** Where the secrets of a kit come from, on the machine of whoever holds them: ports, since each machine has some of them. */
import type { Environment, Network } from '../../core/networks.ts'
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

/** A joint key, of a wallet or made ahead, and which of its shares count. */
export type JointKey = {
  readonly keyId: string
  readonly address: string
  readonly threshold: number
  readonly parties: number
  /** Grows with each refresh. */
  readonly epoch: number
  /** Under which the shares of this epoch were prepared; `null` for those that key generation gave. */
  readonly attemptId: string | null
}

export type TenantSeedSource = {
  readonly tenants: () => Promise<readonly string[]>
  /** @throws Unavailable when the tenant has none, or why it cannot be opened */
  readonly load: (tenantId: string) => Promise<Uint8Array>
}

/** The share store of one party. */
export type PartyShareSource = {
  readonly party: number
  /** The share that counts now; `undefined` when the party has none of this key. */
  readonly load: (key: JointKey) => Promise<Uint8Array | undefined>
}

export type KitSources = {
  /** @param tenantId of one tenant; of all when it is `null` */
  readonly wallets: (tenantId: string | null) => Promise<readonly SourceWallet[]>
  readonly jointKeys: () => Promise<readonly JointKey[]>
  /** `null` where no keystore is. */
  readonly seeds: TenantSeedSource | null
  /** The parties whose stores are on this machine. */
  readonly parties: readonly PartyShareSource[]
}
