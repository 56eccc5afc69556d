/**
 * Jobs of one queue that wait for their tenant's turn. Tenants take turns with one job each; the jobs of a tenant keep
 * their order.
 */
import type { Job } from './queues.ts'

/** Jobs kept for one tenant: a few megabytes. Further jobs are dropped, and the sweeper finds their work. */
const MAX_KEPT = 10_000

export type Rounds = {
  /** Adds a job; replaces a waiting one of the same id in its place. */
  readonly put: (job: Job) => void
  /**
   * Takes the next jobs, at most `room`, one for each tenant in turn.
   *
   * @param mayHave whether a tenant may have one more now; called before each of its jobs with the number taken in this
   *   call
   */
  readonly take: (room: number, mayHave: (tenantId: string, taken: number) => boolean) => Job[]
  readonly size: () => number
}

/** The tenant of a job; '' when its data have none. */
function tenantOf({ data }: Job): string {
  return data.tenant_id ?? ''
}

/** @param maxKept jobs kept for one tenant */
export function createRounds(maxKept = MAX_KEPT): Rounds {
  /** In the order of their turns: a tenant moves to the end after its turn. */
  const tenants = new Map<string, Map<string, Job>>()
  let size = 0
  return {
    put(job) {
      const own = tenants.get(tenantOf(job)) ?? new Map<string, Job>()
      if (!own.has(job.id)) {
        if (own.size >= maxKept) return
        size += 1
      }
      own.set(job.id, job)
      tenants.set(tenantOf(job), own)
    },
    take(room, mayHave) {
      const taken: Job[] = []
      const counts = new Map<string, number>()
      for (let passed = 0; taken.length < room && passed < tenants.size; ) {
        const [[tenantId, own] = ['', new Map<string, Job>()]] = tenants
        tenants.delete(tenantId)
        const count = counts.get(tenantId) ?? 0
        const [job] = mayHave(tenantId, count) ? own.values() : []
        if (job !== undefined) {
          own.delete(job.id)
          taken.push(job)
          counts.set(tenantId, count + 1)
        }
        passed = job === undefined ? passed + 1 : 0
        if (own.size > 0) tenants.set(tenantId, own)
      }
      size -= taken.length
      return taken
    },
    size: () => size,
  }
}
