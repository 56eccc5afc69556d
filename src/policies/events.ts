/**
 * The events of the policy of a tenant in one environment. A version has a number that counts up and never means another policy:
 * shadowing or publishing a draft gives it one, and publishing a shadow keeps it.
 */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { Policy } from '../core/policy.ts'

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
