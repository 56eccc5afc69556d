/** `policies`: what is in force for each tenant. Changes nothing. */
import type { Pool } from 'pg'
import type { CliCommand, ExitCode, Within } from '../cli/command.ts'
import { textOf } from '../cli/option-values.ts'
import type { Policy } from '../core/policy.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import { presentPolicy } from './present-policy.ts'

/** Owners of one list. */
const MOST = 1_000

type Version = Pick<Row<'policy_versions', { readonly policy: Policy }>, 'policy' | 'published_at'>
type Listed = Pick<
  Row<'policies'>,
  'tenant_id' | 'environment' | 'active_version' | 'shadow_version' | 'shadow_seeded' | 'draft_revision'
> &
  OrNull<Version>

export function policiesCommand(within: Within<{ readonly pool: Pool }>): CliCommand {
  return {
    name: 'policies',
    summary: 'the policies of tenants: the active version with its rules, the shadow and the draft',
    details: `At most ${MOST} tenants and environments, by name. Tenants that never drafted a policy are not listed.\n\nJSON: {"policies": [{"tenant_id", "environment", "version", "published_at", "shadow_version", "shadow_seeded", "draft_revision", "policy"}]};
version and policy are null without an active policy.`,
    options: [{ flags: '--tenant <name>', description: 'only those of this tenant, with all their rules' }],
    run: ({ options }, io) =>
      within(async ({ pool }): Promise<ExitCode> => {
        const tenantId = textOf(options.tenant)
        const rows = await listed(pool, tenantId)
        const head = ['tenant', 'environment', 'version', 'published at', 'rules', 'shadow', 'draft']
        const rules = tenantId === undefined ? '' : rows.map(rulesText).join('')
        io.print({ policies: rows.map(asJson) }, `${io.table(head, rows.map(cellsOf))}\n${rules}`)
        return 0
      }),
  }
}

async function listed(pool: Pool, tenantId: string | undefined): Promise<readonly Listed[]> {
  const { rows } = await pool.query<Listed>(
    `SELECT p.tenant_id, p.environment, p.active_version, p.shadow_version, p.shadow_seeded, p.draft_revision, v.policy, v.published_at
       FROM policies AS p LEFT JOIN policy_versions AS v
         ON v.tenant_id = p.tenant_id AND v.environment = p.environment AND v.policy_version = p.active_version
      WHERE $1::text IS NULL OR p.tenant_id = $1 ORDER BY p.tenant_id, p.environment LIMIT ${MOST}`,
    [tenantId ?? null],
  )
  return rows
}

function cellsOf(row: Listed): readonly string[] {
  const { policy, published_at: publishedAt } = row
  const shadow = row.shadow_version === 0 ? '-' : `${row.shadow_version}${row.shadow_seeded ? '' : ' (not seeded)'}`
  return [
    ...[row.tenant_id, row.environment],
    ...(policy === null
      ? ['-', '-', '-']
      : [
          `${row.active_version}`,
          publishedAt?.toISOString() ?? '-',
          `${policy.rules.length}, default ${policy.default}`,
        ]),
    ...[shadow, `${row.draft_revision}`],
  ]
}

function rulesText({ tenant_id: tenant, environment, active_version: version, policy }: Listed): string {
  if (policy === null) return ''
  const rules = presentPolicy(policy).rules.map((rule) => `  ${JSON.stringify(rule)}\n`)
  return `\n${tenant}, ${environment}, version ${version}:\n${rules.length === 0 ? '  no rules\n' : rules.join('')}`
}

function asJson(row: Listed) {
  const { tenant_id, environment, shadow_version, shadow_seeded, draft_revision, policy } = row
  return {
    ...{ tenant_id, environment, version: policy === null ? null : row.active_version },
    published_at: row.published_at?.toISOString() ?? null,
    ...{ shadow_version: shadow_version === 0 ? null : shadow_version, shadow_seeded, draft_revision },
    policy: policy && presentPolicy(policy),
  }
}
