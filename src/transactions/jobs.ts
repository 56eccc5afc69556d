/** Jobs for the events of a transaction, and which unfinished transactions are queued again. */

import type { Pool } from 'pg'
import type { Decision } from '../event-log/aggregate.ts'
import type { Notice } from '../event-log/subscription.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { Job } from '../jobs/queues.ts'
import { opens } from './kinds.ts'
import { isLaneName, type Lane, laneName } from './lanes.ts'
import { isPartition, partitionSql, workName } from './partitions.ts'
import { isUnmined, unchangedFor } from './sql.ts'
import type { TransactionState } from './state.ts'

function signJob(lane: Lane): Job {
  return { queue: 'lane', id: laneName(lane), data: { lane: laneName(lane) } }
}

/** Found by the sweeper: bytes may be due again, which no other job is about. */
function stale(job: Job): Job {
  return told({ ...job, data: { ...job.data, stale: 'true' } })
}

/** Of a lane whose work no append names: the process that has the lane is told of it. */
function told(job: Job): Job {
  return { ...job, data: { ...job.data, told: 'true' } }
}

function submitJob(lane: Lane): Job {
  return { queue: 'submit', id: laneName(lane), data: { lane: laneName(lane) } }
}

/** Events, beside its request, after which a lane has something to sign: a wish, room in a full lane, a lost nonce. */
const TO_SIGN: ReadonlySet<string> = new Set([
  'CancellationRequested',
  'SpeedUpRequested',
  'TransactionMined',
  'NonceConsumedExternally',
])
/** Events after which there are bytes to submit. */
const TO_SUBMIT: ReadonlySet<string> = new Set([
  'TransactionSigned',
  'TransactionReplaced',
  'TransactionReorged',
  'SettlementRevoked',
])
/** Events after which dependents of the transaction may be signed, or must fail. */
const DECIDES: ReadonlySet<string> = new Set([
  'TransactionMined',
  'TransactionReverted',
  'TransactionFailed',
  'TransactionCancelled',
])

function asksToSign(type: string): boolean {
  return TO_SIGN.has(type) || opens(type)
}

/** Whether an event asks for nothing but a job of its own transaction's lane, whose work the wake-up of its append names. */
export function isOfLaneAlone(type: string): boolean {
  return ((asksToSign(type) || TO_SUBMIT.has(type)) && !DECIDES.has(type)) || type === 'TransactionSubmitted'
}

/** What the decisions on transactions mean for their lanes, as wake-ups say it. */
export function laneWork(decisions: readonly Decision[]): readonly string[] {
  return decisions.flatMap(({ events, after }) => {
    if (!events[0]?.streamId.startsWith('transaction-')) return []
    const state = after.state as TransactionState
    if (state.state === 'unknown') return []
    const lane = laneName({ chainId: state.intent.chainId, address: state.intent.from })
    return [
      ...(events.some(({ type }) => asksToSign(type)) ? [workName('sign', lane)] : []),
      ...(events.some(({ type }) => TO_SUBMIT.has(type)) ? [workName('submit', lane)] : []),
    ]
  })
}

/** An event with the lane of its transaction, if it has one, and the lanes of the transaction's dependents. */
export type LanedEvent = Notice & { readonly lane?: Lane; readonly dependents?: readonly Lane[] }

/** The jobs of an event: one for a whole lane, since a job signs or submits everything that waits. Pure. */
export function transactionJobs({
  type,
  lane,
  dependents = [],
}: Pick<LanedEvent, 'type' | 'lane' | 'dependents'>): readonly Job[] {
  const own =
    lane === undefined ? [] : asksToSign(type) ? [signJob(lane)] : TO_SUBMIT.has(type) ? [submitJob(lane)] : []
  return dependents.length === 0 ? own : [...own, ...dependents.map((one) => told(signJob(one)))]
}

export type Lanes = {
  readonly own: ReadonlyMap<string, Lane>
  /** Lanes with dependents of a transaction, by that transaction's id. */
  readonly dependents: ReadonlyMap<string, readonly Lane[]>
}

/** Finds the lanes of transactions, and those of the dependents of the decided ones. */
export type LanesOf = (transactionIds: readonly string[], decidedIds: readonly string[]) => Promise<Lanes>

/** Adds the lanes to each event of a batch, with one query for the batch. */
export async function* withLanes<B extends { readonly events: readonly Notice[] }>(
  batches: AsyncIterable<B>,
  lanesOf: LanesOf,
): AsyncGenerator<Omit<B, 'events'> & { readonly events: readonly LanedEvent[] }> {
  for await (const batch of batches) {
    const idsOf = (isWanted: (type: string) => boolean) => [
      ...new Set(batch.events.filter(({ type }) => isWanted(type)).map(transactionIdOf)),
    ]
    const working = idsOf((type) => asksToSign(type) || TO_SUBMIT.has(type))
    const { own, dependents } = await lanesOf(
      working,
      idsOf((type) => DECIDES.has(type)),
    )
    yield {
      ...batch,
      events: batch.events.map((event) => {
        const id = transactionIdOf(event)
        const lane = own.get(id)
        const waiting = DECIDES.has(event.type) ? dependents.get(id) : undefined
        if (lane === undefined && waiting === undefined) return event
        return { ...event, ...(lane ? { lane } : {}), ...(waiting ? { dependents: waiting } : {}) }
      }),
    }
  }
}

function transactionIdOf(event: Notice): string {
  return event.streamId.slice('transaction-'.length)
}

/** Finds lanes in the read model, with one query. */
export async function readLanesOf(
  pool: Pool,
  ids: readonly string[],
  decidedIds: readonly string[],
): ReturnType<LanesOf> {
  const own = new Map<string, Lane>()
  const dependents = new Map<string, Lane[]>()
  if (ids.length === 0 && decidedIds.length === 0) return { own, dependents }
  const { rows } = await pool.query<
    Pick<Row<'transactions'>, 'chain_id' | 'from_address'> & { id: string; waits: boolean }
  >({
    name: 'lanes_of',
    text: `SELECT wanted.id, false AS waits, t.* FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
             (SELECT chain_id, from_address FROM transactions WHERE transaction_id = wanted.id OFFSET 0) AS t
           UNION ALL
           SELECT decided.id, true, d.* FROM unnest($2::text[]) AS decided(id) CROSS JOIN LATERAL
             (SELECT DISTINCT chain_id, from_address FROM transactions
               WHERE depends_on = decided.id AND state = 'requested' OFFSET 0) AS d`,
    values: [ids, decidedIds],
  })
  for (const { id, waits, chain_id: chainId, from_address: address } of rows) {
    if (waits) dependents.set(id, [...(dependents.get(id) ?? []), { chainId, address }])
    else own.set(id, { chainId, address })
  }
  return { own, dependents }
}

/**
 * Lanes with work that has not changed for a while, tenants in turn: finds work lost with an emptied queue. For each
 * tenant the search continues after the last lane found, so that lanes that wait for long do not hide others.
 *
 * @param quietMs work that changed later still has its own job
 * @param sentMs bytes submitted longer ago are submitted again
 */
export function createFindUnfinishedLanes(
  pool: Pool,
  { quietMs, sentMs }: { readonly quietMs: number; readonly sentMs: number },
): (limit: number) => Promise<Job[]> {
  /** The last lane of the previous round, by tenant. */
  const reached = new Map<string, string>()
  return async (limit) => {
    const { rows } = await pool.query<UnfinishedRow>({
      name: 'unfinished_lanes',
      text: `SELECT tenant_id, chain_id, from_address, to_sign, to_submit FROM (
               SELECT lanes.*, row_number() OVER (PARTITION BY lanes.tenant_id
                        ORDER BY (lanes.chain_id, lanes.from_address) <= (reached.chain_id, reached.address), lanes.chain_id, lanes.from_address) AS turn
                 FROM (SELECT min(tenant_id) AS tenant_id, chain_id, from_address,
                              bool_or${toSign('$2')} AS to_sign,
                              bool_or${toSubmit('$2')} AS to_submit
                         FROM transactions
                        WHERE ${isUnmined('transactions')}
                          AND ${unchangedFor('$1')}
                        GROUP BY chain_id, from_address) AS lanes
                 LEFT JOIN (SELECT tenant_id, split_part(lane, '-', 1)::bigint AS chain_id, split_part(lane, '-', 2) AS address
                              FROM unnest($4::text[], $5::text[]) AS place(tenant_id, lane)) AS reached USING (tenant_id)) AS turns
              ORDER BY turn, tenant_id LIMIT $3`,
      values: [quietMs, sentMs, limit, [...reached.keys()], [...reached.values()]],
    })
    const jobs: Job[] = []
    for (const row of rows) {
      const lane = { chainId: row.chain_id, address: row.from_address }
      const own = [...(row.to_sign ? [signJob(lane)] : []), ...(row.to_submit ? [submitJob(lane)] : [])].map(stale)
      if (jobs.length + own.length > limit) return jobs
      jobs.push(...own)
      reached.set(row.tenant_id, laneName(lane))
    }
    if (rows.length < limit) reached.clear() // All lanes were found.
    return jobs
  }
}

/**
 * Of these lanes those that have something to sign, or to send, as `createFindUnfinishedLanes` with the same `sentMs` finds it;
 * of these partitions those with work that has not changed for so long.
 */
export async function findOpenLanes(
  pool: Pool,
  queue: 'lane' | 'submit',
  lanes: readonly string[],
  sentMs: number,
): Promise<string[]> {
  const named = lanes.filter(isLaneName)
  const partitions = lanes.filter(isPartition)
  const { rows } = await pool.query<{ lane: string }>({
    name: `open_${queue}`,
    text: `SELECT lane FROM unnest($1::text[]) AS lane WHERE EXISTS (SELECT FROM transactions
            WHERE chain_id = split_part(lane, '-', 1)::bigint AND from_address = split_part(lane, '-', 2) AND ${isUnmined('transactions')}
              AND ${queue === 'lane' ? toSign('$2') : toSubmit('$2')})`,
    values: [named, sentMs],
  })
  const open = partitions.length === 0 ? [] : await findOpenPartitions(pool, queue, partitions, sentMs)
  // A name that is none is a defect: its job stays.
  const others = lanes.filter((name) => !isLaneName(name) && !isPartition(name))
  return [...others, ...rows.map(({ lane }) => lane), ...open]
}

async function findOpenPartitions(
  pool: Pool,
  queue: 'lane' | 'submit',
  partitions: readonly string[],
  sentMs: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ partition: string }>({
    name: `open_partitions_${queue}`,
    text: `SELECT DISTINCT ${partitionSql('from_address')} AS partition FROM transactions
            WHERE ${isUnmined('transactions')} AND ${unchangedFor('$2')} AND ${queue === 'lane' ? toSign('$2') : toSubmit('$2')}
              AND ${partitionSql('from_address')} = ANY ($1::text[])`,
    values: [partitions, sentMs],
  })
  return rows.map(({ partition }) => partition)
}

/** @param sentMs the parameter of the statement */
function toSign(sentMs: '$2'): string {
  return `(state = 'requested' OR attention IS NOT NULL OR ${unchangedFor(sentMs)})`
}

function toSubmit(sentMs: '$2'): string {
  return `(state <> 'requested' AND (state <> 'submitted' OR ${unchangedFor(sentMs)}))`
}

type UnfinishedRow = Pick<Row<'transactions'>, 'tenant_id' | 'chain_id' | 'from_address'> & {
  readonly to_sign: boolean
  readonly to_submit: boolean
}
