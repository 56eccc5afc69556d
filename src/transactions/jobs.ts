/** Which jobs follow from which events of a transaction, and which unfinished transactions are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { type Lane, laneName } from './lanes.ts'

function signJob(lane: Lane): Job {
  return { queue: 'lane', id: laneName(lane), data: { lane: laneName(lane) } }
}

function submitJob(lane: Lane): Job {
  return { queue: 'submit', id: laneName(lane), data: { lane: laneName(lane) } }
}

/** Events that leave a lane something to sign: a request, an owner's wish, room in a lane that was full, a lost nonce. */
const TO_SIGN = [
  'TransferRequested',
  'CancellationRequested',
  'SpeedUpRequested',
  'TransactionMined',
  'NonceConsumedExternally',
]
/** Events that leave bytes to send. */
const TO_SUBMIT = ['TransactionSigned', 'TransactionReplaced', 'TransactionReorged']

/** An event, and the lane of its transaction when it has one. */
export type LanedEvent = Notice & { readonly lane?: Lane }

/** The job of an event: one for the whole lane, since a job drains all that waits. Pure. */
export function transactionJobs({ type, lane }: Pick<LanedEvent, 'type' | 'lane'>): readonly Job[] {
  if (lane === undefined) return []
  if (TO_SIGN.includes(type)) return [signJob(lane)]
  return TO_SUBMIT.includes(type) ? [submitJob(lane)] : []
}

/** Tells each event of a batch its lane, with one query for the batch. */
export async function* withLanes<B extends { readonly events: readonly Notice[] }>(
  batches: AsyncIterable<B>,
  lanesOf: (transactionIds: readonly string[]) => Promise<ReadonlyMap<string, Lane>>,
): AsyncGenerator<Omit<B, 'events'> & { readonly events: readonly LanedEvent[] }> {
  for await (const batch of batches) {
    const ids = new Set(
      batch.events.filter(({ type }) => TO_SIGN.includes(type) || TO_SUBMIT.includes(type)).map(transactionIdOf),
    )
    const lanes = await lanesOf([...ids])
    yield {
      ...batch,
      events: batch.events.map((event) => {
        const lane = lanes.get(transactionIdOf(event))
        return lane === undefined ? event : { ...event, lane }
      }),
    }
  }
}

function transactionIdOf(event: Notice): string {
  return event.streamId.slice('transaction-'.length)
}

/** Finds the lanes of transactions in the read model. */
export function createLanesOf(pool: Pool) {
  return async (ids: readonly string[]): Promise<Map<string, Lane>> => {
    if (ids.length === 0) return new Map()
    const { rows } = await pool.query<{ transaction_id: string; chain_id: number; from_address: string }>({
      name: 'lanes_of',
      text: `SELECT t.* FROM unnest($1::text[]) AS wanted(id) CROSS JOIN LATERAL
               (SELECT transaction_id, chain_id, from_address FROM transactions WHERE transaction_id = wanted.id OFFSET 0) AS t`,
      values: [ids],
    })
    return new Map(rows.map((row) => [row.transaction_id, { chainId: row.chain_id, address: row.from_address }]))
  }
}

/**
 * Lanes with work that nothing has touched for a while: what is lost with an emptied queue is found here.
 *
 * @param quietBefore work that changed later has a job of its own on the way
 */
export async function findUnfinishedLanes(
  pool: Pool,
  quietBefore: Date,
  sentBefore: Date,
  limit: number,
): Promise<Job[]> {
  const { rows } = await pool.query<{ chain_id: number; from_address: string; to_sign: boolean; to_submit: boolean }>({
    name: 'unfinished_lanes',
    text: `SELECT chain_id, from_address,
                  bool_or(state = 'requested' OR attention IS NOT NULL OR updated_at < $2) AS to_sign,
                  bool_or(state <> 'requested' AND (state <> 'submitted' OR updated_at < $2)) AS to_submit
             FROM transactions
            WHERE state IN ('requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds') AND updated_at < $1
            GROUP BY chain_id, from_address LIMIT $3`,
    values: [quietBefore, sentBefore, limit],
  })
  return rows.flatMap((row) => {
    const lane = { chainId: row.chain_id, address: row.from_address }
    return [...(row.to_sign ? [signJob(lane)] : []), ...(row.to_submit ? [submitJob(lane)] : [])]
  })
}
