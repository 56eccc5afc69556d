/** The streams of policies. That of a policy has read models: what is in force, and a row for each version. Pure. */
import { type Aggregate, opensItself } from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import { reservedSpends } from '../transactions/limits.ts'
import { readReserving } from '../transactions/read-events.ts'
import {
  type KnownPolicies,
  type PoliciesState,
  type PolicyCommand,
  type PolicyVersion,
  policyDecider,
} from './decider.ts'
import type { CountersSeeded, PolicyEvent, PolicyRefused, SeededSum, SpendFound } from './events.ts'

export const VERSION_STATUSES = ['shadow', 'active', 'ended', 'replaced'] as const
export type VersionStatus = (typeof VERSION_STATUSES)[number]

const first = { version: 1, upcasters: [] }

type Tables = 'policies' | 'policy_versions'

export const policyAggregate: Aggregate<PoliciesState, PolicyCommand, PolicyEvent, Tables> = {
  ...policyDecider,
  category: 'policy',
  whenSetAside: 'end',
  schemas: {
    PolicyDrafted: first,
    PolicyShadowed: first,
    PolicySeeded: first,
    PolicyShadowEnded: first,
    PolicyPublished: first,
  },
  opens: opensItself<PolicyEvent>('PolicyDrafted', 'PolicyShadowed', 'PolicyShadowEnded', 'PolicyPublished'),
  project(before, after, { version }) {
    if (after.status === 'unknown') return { rows: [], holds: [] }
    const versions = changedVersions(before.status === 'unknown' ? null : before, after)
    const rows = versions.map((row) => ({ table: 'policy_versions' as const, row }))
    return { rows: [{ table: 'policies', row: toRow(after, version) }, ...rows], holds: [] }
  },
}

/** The id of the stream of an owner, without its category. */
export function policyStreamOf({ tenantId, environment }: Pick<KnownPolicies, 'tenantId' | 'environment'>): string {
  return `${tenantId}-${environment}`
}

/** With its category. */
export function policyStreamId(owner: Pick<KnownPolicies, 'tenantId' | 'environment'>): string {
  return `${policyAggregate.category}-${policyStreamOf(owner)}`
}

function toRow(policies: KnownPolicies, version: number): WrittenRow<'policies'> {
  const { tenantId, environment, draft, active, shadow, isSeeded, updatedAt } = policies
  return {
    tenant_id: tenantId,
    environment,
    active_version: active?.version ?? 0,
    shadow_version: shadow?.version ?? 0,
    shadow_seeded: isSeeded,
    draft_revision: draft.revision,
    draft: draft.policy,
    draft_note: draft.note,
    drafted_by: draft.draftedBy,
    drafted_at: draft.draftedAt,
    updated_at: updatedAt,
    version,
  }
}

/** Versions that begin, and those that end with that. */
function changedVersions(before: KnownPolicies | null, after: KnownPolicies): readonly WrittenRow<'policy_versions'>[] {
  const { active, shadow, updatedAt: endedAt } = after
  const has = ({ version }: PolicyVersion) => active?.version === version || shadow?.version === version
  const row = (version: PolicyVersion | null | undefined, status: VersionStatus) =>
    version == null ? [] : [versionRow(after, version, { status, endedAt })]
  return [
    ...(before?.active != null && !has(before.active) ? row(before.active, 'replaced') : []),
    ...(before?.shadow != null && !has(before.shadow) ? row(before.shadow, 'ended') : []),
    ...(active === before?.active ? [] : row(active, 'active')),
    ...(shadow === before?.shadow ? [] : row(shadow, 'shadow')),
  ]
}

function versionRow(
  { tenantId, environment }: KnownPolicies,
  { version, revision, policy, hash, shadowedBy, shadowedAt, published }: PolicyVersion,
  { status, endedAt }: { readonly status: VersionStatus; readonly endedAt: string },
): WrittenRow<'policy_versions'> {
  return {
    tenant_id: tenantId,
    environment,
    policy_version: version,
    status,
    draft_revision: revision,
    policy,
    rule_count: policy.rules.length,
    hash,
    previous_version: published?.previousVersion ?? null,
    previous_hash: published?.previousHash ?? null,
    basis: published?.basis ?? null,
    forced: published?.forced ?? null,
    shadowed_by: shadowedBy,
    shadowed_at: shadowedAt,
    published_by: published?.publishedBy ?? null,
    published_at: published?.publishedAt ?? null,
    ended_at: status === 'ended' || status === 'replaced' ? endedAt : null,
  }
}

/** What the newest event adds. */
type SeedingState = { readonly added: readonly SeededSum[] }
type SeedingCommand = { readonly type: 'SeedCounters' } & CountersSeeded['data']

/**
 * The stream of what was spent before the shadows of a tenant. Nothing follows from it but the buckets: `seeded_in` of the append
 * derives the same. Its writer knows the head and loads no state.
 */
export const seedingAggregate: Aggregate<SeedingState, SeedingCommand, CountersSeeded> = {
  category: 'policyseeding',
  schemas: { CountersSeeded: { version: 1, upcasters: [] } },
  initialState: { added: [] },
  decide: ({ type: _, ...data }) => (data.counters.length === 0 ? [] : [{ type: 'CountersSeeded', data }]),
  evolve: (_before, { data }) => ({ added: data.counters }),
  project: (_before, { added }) => ({
    rows: [],
    holds: [],
    spends: added.map(({ counter, bucket, amount }) => ({ counter, bucket, delta: BigInt(amount) })),
  }),
}

type FoundState = { readonly found: SpendFound['data'] | null }
type FoundCommand = { readonly type: 'RecordFound'; readonly found: SpendFound['data'] }

/** The stream of a found spend: one event, and what it adds to buckets, as the append does. */
export const foundAggregate: Aggregate<FoundState, FoundCommand, SpendFound> = {
  category: 'foundspend',
  schemas: { SpendFound: { version: 1, upcasters: [], read: readReserving } },
  initialState: { found: null },
  decide: ({ found }, before) => (before.found === null ? [{ type: 'SpendFound', data: found }] : []),
  evolve: ({ found }, { data }) => ({ found: found ?? data }),
  project: (before, { found }) => ({
    rows: [],
    holds: [],
    spends: before.found === null ? reservedSpends(found?.reservations) : [],
  }),
}

type DenialCommand = { readonly type: 'ReportRefusals'; readonly report: PolicyRefused['data'] }

/** The stream of what a policy refused: no state and no rows. It can be long: append to its head, and do not load it. */
export const policyDenialAggregate: Aggregate<null, DenialCommand, PolicyRefused> = {
  category: 'policydenials',
  schemas: { PolicyRefused: { version: 1, upcasters: [] } },
  initialState: null,
  decide: ({ report }) => [{ type: 'PolicyRefused', data: report }],
  evolve: (state) => state,
  project: () => ({ rows: [], holds: [] }),
}
