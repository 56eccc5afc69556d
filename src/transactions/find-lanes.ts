/** Which lanes of partitions may have work, and whose they are. */
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { atMost } from '../core/at-most.ts'
import { OWNERS_OF_LANES } from '../wallets/sql.ts'
import { laneName } from './lanes.ts'
import { type LaneQueue, partitionSql, STEPS, type Step } from './partitions.ts'
import { hasNoNonce, hasNonce } from './sql.ts'

const inPartitions = (condition: string) =>
  `SELECT DISTINCT chain_id, from_address FROM transactions t WHERE ${condition} AND ${partitionSql('from_address')} = ANY ($1::text[])`

/** From one lane to the next: a lane with many costs as much as one with few. */
const lanesInPartitions = (condition: string) => {
  const next = (after: string) =>
    `SELECT chain_id, from_address FROM transactions t WHERE ${condition}${after} ORDER BY chain_id, from_address LIMIT 1`
  return `SELECT chain_id, from_address FROM (WITH RECURSIVE lane AS ((${next('')}) UNION ALL SELECT later.* FROM lane CROSS JOIN LATERAL
    (${next(' AND (t.chain_id, t.from_address) > (lane.chain_id, lane.from_address)')}) AS later) SELECT * FROM lane) AS lanes
    WHERE ${partitionSql('from_address')} = ANY ($1::text[])`
}

const WAITING = lanesInPartitions(hasNoNonce('t'))
const IN_FLIGHT = lanesInPartitions(hasNonce('t'))
const ATTENTION = inPartitions("attention IN ('cancel', 'speed_up')")

/**
 * The lanes of partitions that may have something to sign, or to send. Each part reads one partial index alone.
 *
 * @param isStale also lanes with bytes that may be due again: signers look at those only when the sweeper found some
 */
export async function findLanes(
  pool: Pool,
  step: Step,
  partitions: readonly string[],
  isStale: boolean,
): Promise<readonly string[]> {
  const parts = step === 'submit' ? [IN_FLIGHT] : [WAITING, ATTENTION, ...(isStale ? [IN_FLIGHT] : [])]
  const { rows } = await pool.query<{ chain_id: number; from_address: string }>({
    name: `find_lanes_to_${step}${isStale ? '_again' : ''}`,
    text: parts.join(' UNION '),
    values: [partitions],
  })
  return rows.map((row) => laneName({ chainId: row.chain_id, address: row.from_address }))
}

export type LaneOwner = { readonly tenantId: string; readonly isMpc: boolean }

/** Submitters may not read wallets: each transaction names its tenant, and what is sent has a nonce. The order makes it an index's. */
const TENANTS_OF_LANES = `SELECT lane.name AS id, t.tenant_id, NULL AS type FROM unnest($1::text[]) AS lane(name) CROSS JOIN LATERAL
  (SELECT tenant_id FROM transactions WHERE chain_id = split_part(lane.name, '-', 1)::integer
      AND from_address = split_part(lane.name, '-', 2) AND nonce IS NOT NULL ORDER BY nonce LIMIT 1) AS t`

/** By lane; lanes that nobody has are missing. */
export async function ownersOf(
  pool: Pool,
  step: Step,
  lanes: readonly string[],
): Promise<ReadonlyMap<string, LaneOwner>> {
  if (lanes.length === 0) return new Map()
  const { rows } = await pool.query<{ id: string; tenant_id: string | null; type: string | null }>({
    name: `owners_of_lanes_to_${step}`,
    text: step === 'submit' ? TENANTS_OF_LANES : OWNERS_OF_LANES,
    values: [lanes],
  })
  return new Map(rows.map(({ id, tenant_id, type }) => [id, { tenantId: tenant_id ?? '', isMpc: type === 'mpc' }]))
}

/** A lane never changes its owner: about 100 bytes each. */
const LANES_KNOWN = 50_000

/**
 * The tenants of the lanes that a queue works on. A lane without an owner has no pass: wake-ups may name any, and nothing can be
 * signed or sent there.
 */
export function createTenantsOf(
  pool: Pool,
  queue: LaneQueue,
): (lanes: readonly string[]) => Promise<ReadonlyMap<string, string>> {
  const known = new LRUCache<string, LaneOwner>(atMost(LANES_KNOWN))
  const isOurs = ({ isMpc }: LaneOwner) => queue === 'submit' || isMpc === (queue === 'mpc-lane')
  return async (lanes) => {
    const owners = new Map(lanes.map((lane) => [lane, known.get(lane)]))
    const unknown = lanes.filter((lane) => owners.get(lane) === undefined)
    for (const [lane, owner] of await ownersOf(pool, STEPS[queue], unknown)) {
      known.set(lane, owner)
      owners.set(lane, owner)
    }
    return new Map(
      [...owners].flatMap(([lane, owner]) =>
        owner !== undefined && isOurs(owner) ? [[lane, owner.tenantId] as const] : [],
      ),
    )
  }
}
