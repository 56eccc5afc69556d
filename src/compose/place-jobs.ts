/** Adds the tenant and the queue of each job: events and sweeps create jobs with ids only. */
import type { Pool } from 'pg'
import type { QueueName } from '../core/registry.ts'
import { mpcQueue } from '../declarations.ts'
import type { Job } from '../jobs/queues.ts'
import type { Work } from '../jobs/work.ts'
import { OWNERS_OF_LANES, WALLETS } from '../wallets/sql.ts'
import { WORK } from './capabilities.ts'

/** The tenant of each job by its id, and the type of the wallet whose key it uses. */
function ownersOf({ owners }: Pick<Work, 'owners'>): string {
  return 'wallets' in owners
    ? `SELECT owned.id, w.tenant_id, w.type FROM (${owners.wallets}) AS owned JOIN ${WALLETS} w USING (wallet_id)`
    : `SELECT id, tenant_id, NULL AS type FROM (${owners.tenants}) AS owned`
}

const OWNERS: Readonly<Partial<Record<QueueName, string>>> = {
  lane: OWNERS_OF_LANES,
  submit: OWNERS_OF_LANES,
  ...Object.fromEntries(WORK.map((work) => [work.queue, ownersOf(work)])),
}

type Owner = { readonly tenantId: string; readonly isMpc: boolean }

/** A lane never changes its owner and has jobs as long as its wallet is used: about 100 bytes each. */
const LANES_KNOWN = 50_000

/**
 * Adds `tenant_id` to the data of each job and selects its queue. A job without an owner in the read models is not
 * changed.
 *
 * @throws database errors
 */
export function createPlaceJobs(pool: Pool): (jobs: readonly Job[]) => Promise<readonly Job[]> {
  const lanes = new Map<string, Owner>()

  async function lookUp(queue: QueueName, ids: readonly string[]): Promise<ReadonlyMap<string, Owner>> {
    const text = OWNERS[queue]
    if (text === undefined || ids.length === 0) return new Map()
    const { rows } = await pool.query<{ id: string; tenant_id: string | null; type: string | null }>({
      name: `owners_of_${queue}`,
      text,
      values: [ids],
    })
    return new Map(
      rows.map(({ id, tenant_id: tenantId, type }) => [id, { tenantId: tenantId ?? '', isMpc: type === 'mpc' }]),
    )
  }

  async function lookUpLanes(queue: QueueName, ids: readonly string[]): Promise<ReadonlyMap<string, Owner>> {
    const known = ids.flatMap((id) => {
      const owner = lanes.get(id)
      return owner === undefined ? [] : [[id, owner] as const]
    })
    if (known.length === ids.length) return new Map(known)
    const found = await lookUp(
      queue,
      ids.filter((id) => !lanes.has(id)),
    )
    if (lanes.size + found.size > LANES_KNOWN) lanes.clear()
    for (const [id, owner] of found) lanes.set(id, owner)
    return new Map([...known, ...found])
  }

  return async (jobs) => {
    const queues = [...new Set(jobs.map(({ queue }) => queue))]
    const owners = new Map(
      await Promise.all(
        queues.map(async (queue) => {
          const ids = jobs.filter((job) => job.queue === queue).map(({ id }) => id)
          const known = OWNERS[queue] === OWNERS_OF_LANES ? await lookUpLanes(queue, ids) : await lookUp(queue, ids)
          return [queue, known] as const
        }),
      ),
    )
    return jobs.map((job) => placed(job, owners.get(job.queue)?.get(job.id)))
  }
}

function placed(job: Job, owner: Owner | undefined): Job {
  if (owner === undefined || owner.tenantId === '') return job
  const queue = owner.isMpc ? mpcQueue(job.queue) : job.queue
  return { ...job, queue, data: { ...job.data, tenant_id: owner.tenantId } }
}
