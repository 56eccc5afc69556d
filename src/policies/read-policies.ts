/** Reads the drafts and versions of a tenant from their rows. Access is restricted in the query. */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import {
  detailView,
  type PoliciesRow,
  type PoliciesView,
  policiesView,
  type SummaryRow,
  summaryView,
  type VersionDetail,
  type VersionRow,
  type VersionSummary,
} from './view.ts'

/** What is asked for by number, or the draft. */
export type VersionName = number | 'draft'

const OF_OWNER = 'WHERE tenant_id = $1 AND environment = $2'
const SUMMARY = `tenant_id, environment, policy_version, status, draft_revision, rule_count, hash, previous_version, previous_hash, basis, forced,
  shadowed_by, shadowed_at, published_by, published_at, ended_at`

export async function readPolicies(pool: Pool, owner: Owner): Promise<PoliciesView> {
  const row = await rowOf(pool, owner)
  const numbers = row === undefined ? [] : [row.active_version, row.shadow_version].filter((number) => number > 0)
  return policiesView(owner.environment, row, numbers.length === 0 ? [] : await versionsOf(pool, owner, numbers))
}

/** Newest first. @param filter.before versions below this number */
export async function listVersions(
  pool: Pool,
  { tenantId, environment }: Owner,
  { before, limit }: { readonly before?: number; readonly limit: number },
): Promise<VersionSummary[]> {
  const older = before === undefined ? '' : 'AND policy_version < $4'
  const { rows } = await pool.query<SummaryRow>({
    name: `list_policy_versions${older && '_older'}`,
    text: `SELECT ${SUMMARY} FROM policy_versions ${OF_OWNER} ${older}
            ORDER BY policy_version DESC LIMIT $3`,
    values: [tenantId, environment, limit, ...(before === undefined ? [] : [before])],
  })
  return rows.map(summaryView)
}

/** @throws NotFound `policy_version_not_found` */
export async function readVersion(
  pool: Pool,
  owner: Owner,
  name: VersionName,
  against?: number,
): Promise<VersionDetail> {
  const { policy, revision, row } = await find(pool, owner, name)
  const other = against === undefined ? null : await find(pool, owner, against)
  return detailView({ policy, revision, row }, other && { version: against ?? 0, policy: other.policy })
}

/** The policy of a version, or the draft. @throws NotFound `policy_version_not_found` */
export async function policyOfVersion(pool: Pool, owner: Owner, name: VersionName): Promise<Policy> {
  return (await find(pool, owner, name)).policy
}

async function find(pool: Pool, owner: Owner, name: VersionName) {
  if (name === 'draft') {
    const row = await rowOf(pool, owner)
    if (row !== undefined) return { policy: row.draft, revision: row.draft_revision, row: null }
  } else {
    const [row] = await versionsOf(pool, owner, [name])
    if (row !== undefined) return { policy: row.policy, revision: row.draft_revision, row }
  }
  throw new NotFound('policy_version')
}

async function rowOf(pool: Pool, { tenantId, environment }: Owner): Promise<PoliciesRow | undefined> {
  const { rows } = await pool.query<PoliciesRow>({
    name: 'read_policies',
    text: `SELECT * FROM policies ${OF_OWNER}`,
    values: [tenantId, environment],
  })
  return rows[0]
}

async function versionsOf(
  pool: Pool,
  { tenantId, environment }: Owner,
  numbers: readonly number[],
): Promise<VersionRow[]> {
  const { rows } = await pool.query<VersionRow>({
    name: 'read_policy_versions',
    text: `SELECT * FROM policy_versions ${OF_OWNER} AND policy_version = ANY ($3::integer[])`,
    values: [tenantId, environment, numbers],
  })
  return rows
}
