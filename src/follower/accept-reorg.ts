/** The word of an operator that lets the follower of a chain go on where it refuses to: what it refuses, the event, and what is accepted. */
import type { Pool } from 'pg'
import type { Refusal } from '../chain/follow.ts'
import type { ChainKey } from '../core/networks.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { chainAggregate, chainStream } from './aggregate.ts'
import type { ChainEvent, ReorgAccepted, ReorgDetected } from './events.ts'

type RefusedReorg = Refusal & { readonly reason: string; readonly sinceMs: number }

type UndoneTransactions = {
  /** In blocks that would be undone. */
  readonly count: number
  /** Those of them whose outcome was reported. */
  readonly told: number
}

export type AcceptReorg = {
  /** What the follower of the chain refuses now; `null` for nothing. */
  readonly refusedOn: (chainId: number) => Promise<RefusedReorg | null>
  readonly transactionsFrom: (chainId: number, block: number) => Promise<UndoneTransactions>
  /** It holds for exactly this final block or block 0, whatever the nodes show by then. */
  readonly accept: (chain: ChainKey, refused: RefusedReorg, reason: string) => Promise<void>
}

export function createAcceptReorg({
  pool,
  log,
}: {
  readonly pool: Pool
  readonly log: Pick<EventLog, 'execute' | 'now'>
}): AcceptReorg {
  return {
    async refusedOn(chainId) {
      const { rows } = await pool.query<
        Pick<Row<'chain_stalls', { refusal: Refusal }>, 'reason' | 'refusal'> & { ms: number }
      >(
        `SELECT reason, refusal, extract(epoch FROM clock_timestamp() - since)::double precision * 1000 AS ms
           FROM chain_stalls WHERE chain_id = $1 AND refusal IS NOT NULL`,
        [chainId],
      )
      const [row] = rows
      return row === undefined ? null : { ...row.refusal, reason: row.reason, sinceMs: row.ms }
    },
    async transactionsFrom(chainId, block) {
      const { rows } = await pool.query<{ count: number; told: number }>(
        `SELECT count(*)::integer AS count, count(*) FILTER (WHERE status <> 'pending')::integer AS told
           FROM ${TRANSACTIONS} AS transactions WHERE chain_id = $1 AND block_number >= $2`,
        [chainId, block],
      )
      return rows[0] ?? { count: 0, told: 0 }
    },
    async accept(chain, { final, genesis }, reason) {
      const fact = { type: 'ReorgAccepted', data: { final, genesis, reason, acceptedAt: log.now() } } as const
      const metadata = { tenantId: 'system', actor: 'operator' }
      await log.execute(chainAggregate, chainStream(chain), fact, { metadata })
    },
  }
}

type Accepted = Pick<ReorgAccepted['data'], 'final' | 'genesis'>

/** What an operator has accepted of a chain and no reorg has used yet. Read only where a step is refused without it. */
export type ReadAccepted = () => Promise<Accepted | null>

/** Reads the stream again only after it has grown. */
export function createReadAccepted(log: Pick<EventLog, 'heads' | 'readStream'>, chain: ChainKey): ReadAccepted {
  const id = chainStream(chain)
  let read: { readonly version: number; readonly accepted: Accepted | null } | null = null
  return async () => {
    const [head] = await log.heads([`${chainAggregate.category}-${id}`])
    const version = head?.version ?? 0
    if (read?.version !== version)
      read = { version, accepted: unusedOf(await log.readStream<ChainEvent>(chainAggregate, id)) }
    return read.accepted
  }
}

/** The newest one, unless the reorg that it was for is behind it: the same block can become final again. */
export function unusedOf(events: readonly ChainEvent[]): Accepted | null {
  return events.reduce<Accepted | null>((accepted, event) => {
    if (event.type === 'ReorgAccepted') return event.data
    return event.type === 'ReorgDetected' && accepted !== null && uses(event.data, accepted) ? null : accepted
  }, null)
}

function uses({ ancestor }: ReorgDetected['data'], { final, genesis }: Accepted): boolean {
  return (genesis !== null && ancestor.number === 0) || (final !== null && ancestor.number < final.number)
}
