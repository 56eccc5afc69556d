/**
 * The events of the policy of a tenant in one environment, and those on streams of their own beside it. A version has a number that counts up and never means another policy:
 * shadowing or publishing a draft gives it one, and publishing a shadow keeps it.
 */
import type { Asset } from '../core/assets.ts'
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'
import type { Policy } from '../core/policy.ts'
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'

/** The rules that a version has, and where they come from. */
type Version = {
  readonly version: number
  /** Of the draft that it was. */
  readonly revision: number
  readonly policy: Policy
  /** SHA-256 of the canonical JSON of the policy, hex. */
  readonly hash: string
}

/** `revision` counts up with each draft. */
export type PolicyDrafted = Event<
  'PolicyDrafted',
  {
    readonly tenantId: string
    readonly environment: Environment
    readonly revision: number
    readonly policy: Policy
    /** For people. */
    readonly note: string | null
    /** The id of the API key, as in all of these events. */
    readonly draftedBy: string
    readonly draftedAt: string
  }
>

/**
 * From now on a version reserves and reports, and denies nothing. `isSeeded`: nothing before it is missing in its counters, since
 * the active version counts on them, or nothing was ever opened.
 */
export type PolicyShadowed = Event<
  'PolicyShadowed',
  Version & { readonly isSeeded: boolean; readonly shadowedBy: string; readonly shadowedAt: string }
>

/** The counters of the shadow have what was opened before it, too. */
export type PolicySeeded = Event<'PolicySeeded', { readonly version: number; readonly seededAt: string }>

export type PolicyShadowEnded = Event<
  'PolicyShadowEnded',
  { readonly version: number; readonly endedBy: string; readonly endedAt: string }
>

/**
 * Why no counter of a published version lacks what was spent before. `seeded`: it was added up while the version was a shadow.
 * `counted`: the version before counts on the same counters, or it has none. `nothing_opened`: nothing was ever opened.
 */
export const COUNTING_BASES = ['seeded', 'counted', 'nothing_opened'] as const
export type CountingBasis = (typeof COUNTING_BASES)[number]

/** From now on a version decides. */
export type PolicyPublished = Event<
  'PolicyPublished',
  Version & {
    /** 0 for none. */
    readonly previousVersion: number
    /** The hash of the version before; `null` for the first. */
    readonly previousHash: string | null
    readonly basis: CountingBasis
    /** Why it was published although no API key could publish another one; `null` if one can. */
    readonly forced: string | null
    readonly publishedBy: string
    readonly publishedAt: string
  }
>

export type PolicyEvent = PolicyDrafted | PolicyShadowed | PolicySeeded | PolicyShadowEnded | PolicyPublished

/**
 * What was spent before a shadow counts too: added to its buckets. A shadow has as many of these events as its sums need, on a stream
 * beside that of the policy, which is read with each change.
 */
export type CountersSeeded = Event<
  'CountersSeeded',
  {
    readonly tenantId: string
    readonly environment: Environment
    readonly version: number
    readonly counters: readonly SeededSum[]
    readonly seededAt: string
  }
>

export type SeededSum = {
  readonly counter: string
  /** The begin of the bucket, ISO 8601 UTC with milliseconds. */
  readonly bucket: string
  /** Decimal digits. */
  readonly amount: string
}

/**
 * What a wallet sent and nobody requested in this log, in a confirmed block. Limits count it, and refuse nothing because of it. Each has a
 * stream of its own, with the id of the observed transfer.
 */
export type SpendFound = Event<
  'SpendFound',
  FoundSpend & {
    /** What is in force by then; missing if nothing is. */
    readonly policy?: PolicyPart
    readonly reservations?: readonly Reservation[]
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

/** Refusals by a policy: at most one event for each API key, rule and minute, or a thief would fill the log. */
export type PolicyRefused = Event<
  'PolicyRefused',
  {
    readonly environment: Environment
    readonly version: number
    /** The version only reports: the request was not refused. */
    readonly shadow: boolean
    /** `null` for the default. */
    readonly rule: string | null
    /** As `details.reason` of the answer: `denied`, `over_limit`. */
    readonly reason: string
    /** The id of the key; `null` for a process of the installation. */
    readonly apiKey: string | null
    /** Of the first of them; `null` for what is about no wallet. */
    readonly walletId: string | null
    /** How many requests. */
    readonly count: number
    readonly firstAt: string
    readonly lastAt: string
  }
>
