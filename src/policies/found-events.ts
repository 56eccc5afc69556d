/** The event of what a wallet sent and nobody requested in this log: each has a stream of its own, with the id of the observed transfer. */
import type { Asset } from '../core/assets.ts'
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Recorded } from '../core/recorded.ts'
import type { Reservation } from '../core/spend-limits.ts'

/** It left the wallet in a confirmed block. Limits count it, and refuse nothing because of it. */
export type SpendFound = Event<
  'SpendFound',
  FoundSpend & {
    /** What is in force by then; missing if nothing is. */
    readonly policy?: PolicyPart
    readonly reservations?: readonly Recorded<Reservation>[]
    readonly foundAt: string
  }
>

export type FoundSpend = {
  readonly tenantId: string
  readonly environment: Environment
  readonly walletId: string
  readonly network: Network
  readonly chainId: number
  readonly hash: string
  /** EIP-55; `null` for a contract that the transaction created. */
  readonly recipient: string | null
  readonly asset: Asset
  /** Base units, decimal digits. */
  readonly amount: string
  /** US dollars of a whole unit when it was observed; `null` if that is not known. */
  readonly usd: string | null
  /** The time of the block. */
  readonly sentAt: string
}
