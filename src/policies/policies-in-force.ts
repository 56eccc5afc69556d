/**
 * What is in force for the requests of a tenant: read at most once a second. A process that decides by an older version is
 * refused by the append (`policy_changed`), and decides again after `forget`.
 */
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Policy } from '../core/policy.ts'
import type { Owner } from '../core/tenants.ts'
import { remembering } from '../event-log/remembered.ts'
import type { Row } from '../event-log/table-rows.ts'
import { policyStreamOf } from './aggregate.ts'
import { type CompiledPolicy, compilePolicy } from './compile.ts'

/** How long what was read counts, ms. */
const REMEMBER_MS = 1_000
const MAX_REMEMBERED = 10_000
/** Characters of JSON of the compiled policies of all tenants: they take about four times as many bytes. */
const MAX_CHARACTERS = 32_000_000

export type InForce = {
  readonly active: CompiledPolicy | null
  /** Reserves and reports, and denies nothing. */
  readonly shadow: CompiledPolicy | null
  /** Whether the counters of the shadow have what was spent before it. */
  readonly isSeeded: boolean
}

export type PoliciesInForce = {
  /** Nothing for a tenant without a policy. Concurrent calls for one owner share a query. */
  readonly of: (owner: Owner) => Promise<InForce>
  /** Makes the next request of this owner read it again. */
  readonly forget: (owner: Owner) => void
}

const NOTHING: InForce = { active: null, shadow: null, isSeeded: false }

type Versions = Pick<Row<'policies'>, 'active_version' | 'shadow_version' | 'shadow_seeded'> & {
  readonly active_hash: string | null
  readonly shadow_hash: string | null
}

export function createPoliciesInForce(pool: Pool): PoliciesInForce {
  const known = remembering<InForce>({ most: MAX_REMEMBERED, ms: REMEMBER_MS })
  const compiled = new LRUCache<string, CompiledPolicy>({ maxSize: MAX_CHARACTERS, maxEntrySize: MAX_CHARACTERS })

  const compiledOnce: CompileVersion = async (owner, version, hash) => {
    const name = `${policyStreamOf(owner)} ${version} ${hash}`
    const found = compiled.get(name)
    if (found !== undefined) return found
    const policy = await readVersion(pool, owner, version)
    const made = compilePolicy(policy, version)
    compiled.set(name, made, { size: JSON.stringify(policy).length })
    return made
  }

  return {
    of: (owner) => known.of(policyStreamOf(owner), () => readInForce(pool, owner, compiledOnce)),
    forget: (owner) => known.forget(policyStreamOf(owner)),
  }
}

/** @param hash after a restore of the database, a number can be that of another policy */
type CompileVersion = (owner: Owner, version: number, hash: string | null) => Promise<CompiledPolicy>

/** What is in force for an owner by now. */
export async function readInForce(
  pool: Pool,
  owner: Owner,
  compile: CompileVersion = async (_owner, version) => compilePolicy(await readVersion(pool, owner, version), version),
): Promise<InForce> {
  const { rows } = await pool.query<Versions>({
    name: 'policies_in_force',
    text: `SELECT p.active_version, p.shadow_version, p.shadow_seeded, a.hash AS active_hash, s.hash AS shadow_hash FROM policies AS p
             LEFT JOIN policy_versions AS a ON (a.tenant_id, a.environment, a.policy_version) = (p.tenant_id, p.environment, p.active_version)
             LEFT JOIN policy_versions AS s ON (s.tenant_id, s.environment, s.policy_version) = (p.tenant_id, p.environment, p.shadow_version)
            WHERE p.tenant_id = $1 AND p.environment = $2`,
    values: [owner.tenantId, owner.environment],
  })
  const [row] = rows
  if (row === undefined) return NOTHING
  const [active, shadow] = await Promise.all([
    row.active_version === 0 ? null : compile(owner, row.active_version, row.active_hash),
    row.shadow_version === 0 ? null : compile(owner, row.shadow_version, row.shadow_hash),
  ])
  return { active, shadow, isSeeded: row.shadow_seeded }
}

/** Versions never change. */
async function readVersion(pool: Pool, { tenantId, environment }: Owner, version: number): Promise<Policy> {
  const { rows } = await pool.query<Pick<Row<'policy_versions', { readonly policy: Policy }>, 'policy'>>({
    name: 'policy_version_in_force',
    text: `SELECT policy FROM policy_versions WHERE tenant_id = $1 AND environment = $2 AND policy_version = $3`,
    values: [tenantId, environment, version],
  })
  const [row] = rows
  if (row === undefined) throw new Error(`no row of version ${version} of the policy of ${tenantId}, ${environment}`)
  return row.policy
}
