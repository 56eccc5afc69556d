/**
 * The intent of a transaction: what the owner requested, as the opening event of every kind of transaction records it. Amounts,
 * fees and gas are bigint: base units, wei, gas units. The log stores their digits (`core/recorded.ts`).
 */
import type { CallerFields } from '../core/caller-fields.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'
import type { Spend } from '../core/spends.ts'

export type GasPriority = 'low' | 'medium' | 'high'

export type AssetRef = {
  /** CAIP-19: `eip155:1/slip44:60`, `eip155:1/erc20:0x…`. */
  readonly assetId: string
  readonly symbol: string
  readonly decimals: number
  /** The ERC-20 contract; `null` for the native currency. */
  readonly contract: string | null
}

export type Fees = { readonly gasLimit: bigint; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

/** The fee quote when fees were decided, at the chosen priority; wei per gas. */
export type Quote = {
  readonly baseFeePerGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** The resource that a transaction belongs to, for looking it up. Capabilities declare the types. */
export type Subject = { readonly type: string; readonly id: string }

/** What a call takes from the wallet besides `amount`, as far as it is known in advance. Base units, above 0. */
export type Outflow = { readonly asset: AssetRef; readonly amount: bigint }

/** A decoded argument; `note` says why the value is missing. */
export type RecordedArgument = {
  readonly name: string
  readonly type: string
  readonly value: unknown
  readonly note?: 'undecodable' | 'hash'
}

/** What a contract call does, as its caller described it. `null` where only call data was given. */
export type CallRecord = {
  readonly function: string | null
  /** `transfer(address,uint256)`. */
  readonly signature: string | null
  /** The first 4 bytes of the call data; `null` for shorter data. */
  readonly selector: string | null
  /** Decoded; `null` if they are too large to record. */
  readonly args: readonly RecordedArgument[] | null
  /** Events of the ABI as text, to decode the logs by. */
  readonly events: readonly string[]
  /** Errors of the ABI as text, to decode a failure by. */
  readonly errors: readonly string[]
  /** What the call allows others to spend. */
  readonly spends: readonly Spend[]
}

/** What capabilities record of their transactions, by the name of the part. A capability adds its own, and declares its name. */
// biome-ignore lint/suspicious/noEmptyInterface: capabilities add their parts.
export interface IntentParts {}

/**
 * The idempotency key of the request, and the index of the transaction among those of its type that the request opened.
 */
export type IdempotencyPart = { readonly key: string; readonly part: number }

/** The fields of every opening intent. */
export type Intent = IntentParts &
  CallerFields & {
    readonly tenantId: string
    readonly walletId: string
    readonly network: Network
    readonly environment: Environment
    readonly chainId: number
    readonly from: string
    /** The recipient of the asset; with `data`, the called contract. */
    readonly to: string
    /** With `data`, the native currency, except where a part says what is sold. */
    readonly asset: AssetRef
    readonly amount: bigint
    /** Call data, `0x` and hex digits; `null` for a transfer, whose call is derived from the asset. */
    readonly data: string | null
    /** Held like the amount, each asset once; missing for none. */
    readonly outflows?: readonly Outflow[]
    /**
     * Whether a contract call failed in its rehearsal, or took what the wallet has of a contract that is no known token, so that what it
     * takes is not known; missing for no, and in older events.
     */
    readonly isUnrehearsed?: boolean
    /** Only of contract calls. */
    readonly call?: CallRecord
    /** The transaction that must be mined successfully before this one is signed. */
    readonly dependsOn: string | null
    readonly subject: Subject | null
    readonly gasPriority: GasPriority
    /** The gas hold: at most `gasLimit · maxFeePerGas`. `newAccountGas` of it creates the recipient, if that did not exist. */
    readonly reserved: { readonly gasLimit: bigint; readonly maxFeePerGas: bigint; readonly newAccountGas?: bigint }
    /** The quote for that; `null` in events from before quotes were recorded. */
    readonly quote: Quote | null
    /** What it counts towards limits of the API key that requested it, and of the policy; missing for none. */
    readonly reservations?: readonly Reservation[]
    /** The policy that judged it; missing where none was in force, and in older events. */
    readonly policy?: PolicyPart
    /** The request that its signatures are tagged with; missing in events of versions that did not tag. */
    readonly idempotency?: IdempotencyPart | null
    readonly estimatedCompletionAt: string
    readonly requestedAt: string
  }
