/**
 * The commands of a policy, and when they are refused. Pure: time, hashes and what is counted come with the command.
 *
 * Invariant: what is shadowed and published is what its sender has read: another draft or version is refused.
 */
import { canonicalJson } from '../core/canonical-json.ts'
import { Conflict } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { assertNever } from '../core/never.ts'
import type { Policy } from '../core/policy.ts'
import type { CountingBasis, PolicyDrafted, PolicyEvent, PolicyPublished, PolicyShadowed } from './events.ts'

/** Characters of policies that are recorded in a day (UTC): they stay in the log, and whoever changes it again reads them. */
const MAX_CHARACTERS_A_DAY = 8_000_000

export type Draft = Pick<PolicyDrafted['data'], 'revision' | 'policy' | 'note' | 'draftedBy' | 'draftedAt'>

export type PolicyVersion = Pick<PolicyPublished['data'], 'version' | 'revision' | 'policy' | 'hash'> & {
  readonly shadowedBy: string | null
  readonly shadowedAt: string | null
  /** `null` for a shadow, as the rest. */
  readonly published: Omit<PolicyPublished['data'], 'version' | 'revision' | 'policy' | 'hash'> | null
}

export type KnownPolicies = {
  readonly status: 'known'
  readonly tenantId: string
  readonly environment: Environment
  readonly draft: Draft
  readonly active: PolicyVersion | null
  readonly shadow: PolicyVersion | null
  /** Whether the counters of the shadow have what was spent before it. */
  readonly isSeeded: boolean
  /** Of the newest version that ever was. */
  readonly newestVersion: number
  readonly recorded: { readonly day: string; readonly characters: number }
  readonly updatedAt: string
}
export type PoliciesState = { readonly status: 'unknown' } | KnownPolicies

/** The draft or the version that the caller has read. */
export type Source = { readonly revision: number } | { readonly version: number }

type Changed = { readonly by: string; readonly now: string }

export type PolicyCommand =
  | ({
      readonly type: 'DraftPolicy'
      readonly tenantId: string
      readonly environment: Environment
      /** The revision that it replaces; 0 for the first draft. */
      readonly revision: number
      readonly policy: Policy
      readonly note: string | null
    } & Changed)
  | ({
      readonly type: 'ShadowPolicy'
      readonly revision: number
      /** Of the draft. */
      readonly hash: string
      readonly isSeeded: boolean
    } & Changed)
  | { readonly type: 'SeedPolicy'; readonly version: number; readonly now: string }
  | ({ readonly type: 'EndShadow'; readonly version: number } & Changed)
  | ({
      readonly type: 'PublishPolicy'
      readonly source: Source
      /** Of what is published. */
      readonly hash: string
      /** `null` if counters of these rules may lack what was spent before. */
      readonly basis: CountingBasis | null
      readonly uncounted: readonly string[]
      /** Whether it leaves no API key that could publish another one. */
      readonly locksOut: boolean
      readonly forced: string | null
    } & Changed)

type PublishPolicy = Extract<PolicyCommand, { type: 'PublishPolicy' }>

export const policyDecider: Decider<PoliciesState, PolicyCommand, PolicyEvent> = {
  initialState: { status: 'unknown' },

  /** @throws Conflict `policy_changed`, `policy_not_seeded`, `policy_locks_out`, `policy_changes_exhausted` */
  decide(command, state) {
    if (command.type === 'DraftPolicy') return requireRoom(draft(command, state), state, command.now)
    if (state.status === 'unknown') throw changed(state)
    switch (command.type) {
      case 'ShadowPolicy':
        return requireRoom(shadow(command, state), state, command.now)
      case 'SeedPolicy':
        return seed(command, state)
      case 'EndShadow':
        if (state.shadow === null) return []
        if (state.shadow.version !== command.version) throw changed(state)
        return [endOf(state.shadow.version, command)]
      case 'PublishPolicy':
        return requireRoom(publish(command, state), state, command.now)
      default:
        return assertNever(command)
    }
  },

  evolve(state, event) {
    if (event.type === 'PolicyDrafted') return evolveDraft(state, event.data)
    return state.status === 'unknown' ? state : evolveKnown(state, event)
  },
}

/** What another request changed since the caller read it. */
function changed(state: PoliciesState): Conflict {
  const known = state.status === 'unknown' ? null : state
  const message =
    'The policy was changed since it was read, or has no such draft or version: read it again with GET /v1/policies.'
  return new Conflict('policy_changed', message, {
    revision: known?.draft.revision ?? 0,
    version: known?.active?.version ?? null,
    shadow_version: known?.shadow?.version ?? null,
  })
}

function draft(
  { tenantId, environment, revision, policy, note, by, now }: Extract<PolicyCommand, { type: 'DraftPolicy' }>,
  state: PoliciesState,
): readonly PolicyEvent[] {
  const before = state.status === 'unknown' ? null : state.draft
  const isSame = before !== null && note === before.note && canonicalJson(policy) === canonicalJson(before.policy)
  const current = before?.revision ?? 0
  // The first answer to the same request may have been lost.
  if (isSame && (revision === current || revision === current - 1)) return []
  if (revision !== current) throw changed(state)
  const data = { tenantId, environment, revision: revision + 1, policy, note, draftedBy: by, draftedAt: now }
  return [{ type: 'PolicyDrafted', data }]
}

function shadow(
  { revision, hash, isSeeded, by, now }: Extract<PolicyCommand, { type: 'ShadowPolicy' }>,
  state: KnownPolicies,
): readonly PolicyEvent[] {
  if (revision !== state.draft.revision) throw changed(state)
  if (state.shadow?.hash === hash) return []
  const { policy } = state.draft
  const version = state.newestVersion + 1
  const data = { version, revision, policy, hash, isSeeded, shadowedBy: by, shadowedAt: now }
  return [...endedBefore(state, { by, now }), { type: 'PolicyShadowed', data }]
}

/** A shadow that has ended meanwhile needs no seed. */
function seed(
  { version, now }: Extract<PolicyCommand, { type: 'SeedPolicy' }>,
  { shadow: seeded, isSeeded }: KnownPolicies,
): readonly PolicyEvent[] {
  return seeded?.version === version && !isSeeded ? [{ type: 'PolicySeeded', data: { version, seededAt: now } }] : []
}

function publish(command: PublishPolicy, state: KnownPolicies): readonly PolicyEvent[] {
  const { source, hash, basis, uncounted, locksOut, forced, by, now } = command
  const { active } = state
  const isShadow = 'version' in source
  if (isShadow ? active?.version === source.version : active?.hash === hash && state.shadow === null) return []
  const published = isShadow ? state.shadow : state.draft
  if (published === null || (isShadow ? state.shadow?.version : state.draft.revision) !== numberOf(source))
    throw changed(state)
  if (locksOut && forced === null) throw locked()
  if (basis === null) throw notSeeded(uncounted)
  const version = isShadow ? source.version : state.newestVersion + 1
  const { revision, policy } = published
  const data = {
    ...{ version, revision, policy, hash, previousVersion: active?.version ?? 0, previousHash: active?.hash ?? null },
    ...{ basis, forced: locksOut ? forced : null, publishedBy: by, publishedAt: now },
  }
  // What was compared with the version before is not compared with this one.
  return [...(isShadow ? [] : endedBefore(state, command)), { type: 'PolicyPublished', data }]
}

function numberOf(source: Source): number {
  return 'version' in source ? source.version : source.revision
}

function endedBefore({ shadow: before }: KnownPolicies, change: Changed): readonly PolicyEvent[] {
  return before === null ? [] : [endOf(before.version, change)]
}

function endOf(version: number, { by, now }: Changed): PolicyEvent {
  return { type: 'PolicyShadowEnded', data: { version, endedBy: by, endedAt: now } }
}

function notSeeded(rules: readonly string[]): Conflict {
  const message = `Limits of ${rules.join(', ')} would begin at zero, whatever was spent before: shadow the draft with POST /v1/policies/shadow, wait until it is seeded, and publish its version.`
  return new Conflict('policy_not_seeded', message, { rules })
}

function locked(): Conflict {
  const message =
    'With this policy no API key could publish another one: let a key with policies:publish change API keys or policies, or send force with a reason.'
  return new Conflict('policy_locks_out', message)
}

/** @throws Conflict `policy_changes_exhausted` */
function requireRoom(events: readonly PolicyEvent[], state: PoliciesState, now: string): readonly PolicyEvent[] {
  const before = state.status === 'unknown' ? NOTHING_RECORDED : state.recorded
  const after = events.reduce(
    (sum, event) => ('policy' in event.data ? added(sum, event.data.policy, now) : sum),
    before,
  )
  if (after.characters <= MAX_CHARACTERS_A_DAY || events.length === 0) return events
  const message = `Policies of more than ${MAX_CHARACTERS_A_DAY} characters would be recorded today: change the policy again after midnight UTC, or use fewer addresses.`
  throw new Conflict('policy_changes_exhausted', message)
}

const NOTHING_RECORDED = { day: '', characters: 0 }

function added({ day: last, characters }: KnownPolicies['recorded'], policy: Policy, now: string) {
  const day = now.slice(0, 'YYYY-MM-DD'.length)
  return { day, characters: (day === last ? characters : 0) + canonicalJson(policy).length }
}

function evolveDraft(state: PoliciesState, data: PolicyDrafted['data']): PoliciesState {
  const { tenantId, environment, ...rest } = data
  const first: KnownPolicies = {
    ...{ status: 'known', tenantId, environment, draft: rest, active: null, shadow: null, isSeeded: false },
    ...{ newestVersion: 0, recorded: NOTHING_RECORDED, updatedAt: rest.draftedAt },
  }
  const before = state.status === 'unknown' ? first : state
  const recorded = added(before.recorded, rest.policy, rest.draftedAt)
  return { ...before, draft: rest, recorded, updatedAt: rest.draftedAt }
}

function evolveKnown(before: KnownPolicies, event: Exclude<PolicyEvent, PolicyDrafted>): KnownPolicies {
  switch (event.type) {
    case 'PolicyShadowed':
      return evolveShadow(before, event.data)
    case 'PolicySeeded':
      return { ...before, isSeeded: true, updatedAt: event.data.seededAt }
    case 'PolicyShadowEnded':
      return { ...before, shadow: null, isSeeded: false, updatedAt: event.data.endedAt }
    case 'PolicyPublished': {
      const { version, revision, policy, hash, ...published } = event.data
      const from = before.shadow?.version === version ? before.shadow : null
      const { shadowedBy = null, shadowedAt = null } = from ?? {}
      const active = { version, revision, policy, hash, shadowedBy, shadowedAt, published }
      const rest = from === null ? before : { ...before, shadow: null, isSeeded: false }
      const updatedAt = published.publishedAt
      return {
        ...rest,
        ...newest(before, version),
        active,
        recorded: added(before.recorded, policy, updatedAt),
        updatedAt,
      }
    }
    default:
      return assertNever(event)
  }
}

function evolveShadow(before: KnownPolicies, data: PolicyShadowed['data']): KnownPolicies {
  const { isSeeded, ...version } = data
  const recorded = added(before.recorded, version.policy, version.shadowedAt)
  const made = { ...version, published: null }
  const { shadowedAt: updatedAt } = version
  return { ...before, ...newest(before, made.version), shadow: made, isSeeded, recorded, updatedAt }
}

function newest({ newestVersion }: KnownPolicies, version: number) {
  return { newestVersion: Math.max(newestVersion, version) }
}
