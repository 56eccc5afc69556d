/**
 * Work that follows from events: the job that an event asks for, and the search for work that has no job any more. A capability
 * describes its work once; the dispatcher, the sweeper, `stuck` and the queues of mpc keys read it.
 */
import type { Pool } from 'pg'
import type { QueueName } from '../core/registry.ts'
import type { Job } from './queues.ts'

/** What the dispatcher knows of an event. */
export type Occurrence = {
  readonly type: string
  readonly streamId: string
  readonly tenantId: string
  /** As stored, for the types in `dataOf`; else `null`. */
  readonly data: unknown
}

export type Work<Event = Occurrence> = {
  /** As the sweeper and `stuck` call it. */
  readonly name: string
  readonly queue: QueueName
  /** The jobs that an event asks for: none, for most. Pure. */
  readonly jobsOf: (event: Event) => readonly Job[]
  /** Event types whose data `jobsOf` reads. */
  readonly dataOf?: readonly string[]
  /**
   * Work that waits for a while, for each tenant in turn the oldest first. It finds what was lost with an emptied queue.
   *
   * @param quietBefore what was requested later has a job of its own on the way
   */
  readonly findQuiet: (pool: Pool, quietBefore: Date, limit: number) => Promise<Job[]>
  /** Of these job ids those whose work is not done: a failed job of any other has no cause any more. */
  readonly findOpen: (pool: Pool, ids: readonly string[]) => Promise<readonly string[]>
  /** Whose the jobs are: SQL that finds `id` and `wallet_id`, or `id` and `tenant_id`, of the job ids `$1`. */
  readonly owners: { readonly wallets: string } | { readonly tenants: string }
}

type StreamWork<EventType extends string> = Pick<Work, 'name' | 'queue' | 'owners'> & {
  /** The category of the streams. */
  readonly category: string
  /** The field of the job that holds the id of the stream. */
  readonly field: string
  /** Event types after which there is work. */
  readonly from: readonly EventType[]
  /** SQL: the columns `id`, `tenant_id` and `at` of the work that was requested before `$1`. */
  readonly waiting: string
}

/** Work on one stream: the id of the stream is the id of the job. */
export function streamWork<Event extends { readonly type: string }>({
  category,
  field,
  from,
  waiting,
  ...work
}: StreamWork<Event['type']>): Work<Pick<Occurrence, 'type' | 'streamId'>> {
  const asking: ReadonlySet<string> = new Set(from)
  const jobOf = (id: string): Job => ({ queue: work.queue, id, data: { [field]: id } })
  return {
    ...work,
    jobsOf: ({ type, streamId }) => (asking.has(type) ? [jobOf(streamId.slice(category.length + 1))] : []),
    async findQuiet(pool, quietBefore, limit) {
      const { rows } = await pool.query<{ id: string }>({
        name: `quiet_${work.queue}`,
        text: `SELECT id FROM (SELECT id, at, row_number() OVER (PARTITION BY tenant_id ORDER BY at) AS turn
                 FROM (${waiting}) AS waiting) AS turns ORDER BY turn, at LIMIT $2`,
        values: [quietBefore, limit],
      })
      return rows.map(({ id }) => jobOf(id))
    },
    async findOpen(pool, ids) {
      const { rows } = await pool.query<{ id: string }>({
        name: `open_${work.queue}`,
        text: `SELECT id FROM (${waiting}) AS waiting WHERE id = ANY ($2::text[])`,
        values: ['infinity', ids],
      })
      return rows.map(({ id }) => id)
    },
  }
}
