/** Drafts and versions of policies in the form of the API. */
import { toIso } from '../core/instants.ts'
import type { Environment } from '../core/networks.ts'
import type { Policy } from '../core/policy.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { VersionStatus } from './aggregate.ts'
import { diffPolicies } from './diff-policies.ts'
import type { CountingBasis } from './events.ts'
import { lintPolicy } from './lint.ts'
import { presentPolicy } from './present-policy.ts'
import type { policiesSchema, versionDetailSchema, versionSummarySchema } from './route-schemas.ts'

export type PoliciesView = View<typeof policiesSchema>
export type VersionDetail = View<typeof versionDetailSchema>
export type VersionSummary = View<typeof versionSummarySchema>

export type PoliciesRow = Row<'policies', { readonly draft: Policy }>
export type VersionRow = Row<
  'policy_versions',
  { readonly policy: Policy; readonly status: VersionStatus; readonly basis: CountingBasis | null }
>
export type SummaryRow = Omit<VersionRow, 'policy'>

export function policiesView(
  environment: Environment,
  row: PoliciesRow | undefined,
  versions: readonly VersionRow[],
): PoliciesView {
  if (row === undefined) return { environment, active: null, shadow: null, draft: null }
  // It may have been replaced since the first row was read.
  const viewOf = (version: number, status: VersionStatus) => {
    const found = versions.find(({ policy_version }) => policy_version === version)
    return found === undefined ? null : versionView({ ...found, status, ended_at: null })
  }
  const shadow = viewOf(row.shadow_version, 'shadow')
  return {
    environment,
    active: viewOf(row.active_version, 'active'),
    shadow: shadow && { ...shadow, seeded: row.shadow_seeded },
    draft: {
      revision: row.draft_revision,
      policy: presentPolicy(row.draft),
      note: row.draft_note,
      drafted_at: toIso(row.drafted_at),
      drafted_by: row.drafted_by,
      warnings: [...lintPolicy(row.draft)],
    },
  }
}

function versionView(row: VersionRow) {
  return { ...summaryView(row), policy: presentPolicy(row.policy) }
}

/** @param row `null` for the draft */
export function detailView(
  { policy, revision, row }: { readonly policy: Policy; readonly revision: number; readonly row: VersionRow | null },
  other: { readonly version: number; readonly policy: Policy } | null,
): VersionDetail {
  return {
    version: row?.policy_version ?? null,
    revision,
    summary: row && summaryView(row),
    policy: presentPolicy(policy),
    diff: other && { against: other.version, ...diffPolicies(other.policy, policy) },
  }
}

export function summaryView(row: SummaryRow): VersionSummary {
  const isoOf = (at: Date | null) => (at === null ? null : toIso(at))
  return {
    version: row.policy_version,
    status: row.status,
    hash: row.hash,
    rules: row.rule_count,
    draft_revision: row.draft_revision,
    shadowed_at: isoOf(row.shadowed_at),
    shadowed_by: row.shadowed_by,
    published_at: isoOf(row.published_at),
    published_by: row.published_by,
    previous_version: row.previous_version,
    previous_hash: row.previous_hash,
    counting_basis: row.basis,
    forced: row.forced,
    ended_at: isoOf(row.ended_at),
  }
}
