/** The contents of a queue by tenant, which decide whose job is added next. */
import type { QueueLimits } from '../core/declaration.ts'
import type { QueueName } from '../core/registry.ts'
import type { BullJob, BullQueue } from './bull.ts'
import type { QueueLoad, TenantLoad } from './jobs.ts'
import type { OpenQueues } from './open-queues.ts'

/** Jobs examined in each state: more than the limits of `take-turns.ts` admit, unless an operator retried jobs. */
const LOOKED_AT = 500
const STATES = ['delayed', 'waiting', 'active'] as const
type State = (typeof STATES)[number]
/** Jobs of the previous version named no tenant. */
const NOBODY = ''

export type QueueLoads = {
  readonly read: (queue: QueueName, options: { readonly byTenant: boolean }) => Promise<QueueLoad>
  /** Records added jobs, so that their tenants need not be read from the queue. */
  readonly note: (queue: QueueName, added: readonly BullJob[]) => void
}

/** A job never changes its tenant: each is read at most once and then known by its id in the queue. */
export function createQueueLoads(
  queues: Pick<OpenQueues, 'on'>,
  limits: Readonly<Record<QueueName, QueueLimits>>,
): QueueLoads {
  const known = new Map<string, Map<string, string>>(Object.keys(limits).map((name) => [name, new Map()]))
  return {
    read: (name, { byTenant }) =>
      queues.on(name, async (queue) => {
        if (!byTenant) return { ...(await countsOf(queue)), byTenant: null }
        // In the order of a job's states: a job that moves during the reads is seen twice, and its last state counts.
        const states = new Map<string, State>()
        for (const state of STATES) {
          for (const id of await queue.getRanges([state], 0, LOOKED_AT - 1)) states.set(id, state)
        }
        const tenants = await tenantsOf(queue, [...states.keys()], known.get(name) ?? new Map())
        known.set(name, tenants)
        return tally(states, tenants)
      }),
    note(name, added) {
      if (limits[name].atOnce === null) return // Tenants of these jobs are usually not counted.
      for (const { id = '', data } of added) known.get(name)?.set(id, tenantOf(data))
    },
  }
}

async function countsOf(queue: BullQueue): Promise<Pick<QueueLoad, 'waiting' | 'delayed'>> {
  const { waiting = 0, delayed = 0 } = await queue.getJobCounts('waiting', 'delayed')
  return { waiting, delayed }
}

/** The tenant of each job that is in the queue now, by its id there. */
async function tenantsOf(
  queue: BullQueue,
  ids: readonly string[],
  known: ReadonlyMap<string, string>,
): Promise<Map<string, string>> {
  const found = await Promise.all(
    ids.map(async (id) => [id, known.get(id) ?? tenantOf((await queue.getJob(id))?.data)] as const),
  )
  return new Map(found)
}

/** Accepts any data: the worker refuses malformed jobs. */
function tenantOf(data: unknown): string {
  if (typeof data !== 'object' || data === null || !('tenant_id' in data)) return NOBODY
  return typeof data.tenant_id === 'string' ? data.tenant_id : NOBODY
}

function tally(states: ReadonlyMap<string, State>, tenants: ReadonlyMap<string, string>): QueueLoad {
  const count = { delayed: 0, waiting: 0, active: 0 }
  const byTenant = new Map<string, TenantLoad>()
  for (const [id, state] of states) {
    count[state] += 1
    const tenant = tenants.get(id) ?? NOBODY
    const { running, failing } = byTenant.get(tenant) ?? { running: 0, failing: 0 }
    byTenant.set(tenant, state === 'delayed' ? { running, failing: failing + 1 } : { running: running + 1, failing })
  }
  return { waiting: count.waiting, delayed: count.delayed, byTenant }
}
