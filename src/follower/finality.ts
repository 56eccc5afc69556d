/**
 * The newest followed block that a quorum of the nodes calls final (EIP-3675; milestones of polygon, fast finality of BSC). A
 * reorg below it is followed only after an operator's word. Development nodes call any block final: only public chains count.
 *
 * And that word, which lets the follower of a chain go on where it refuses to: what it refuses, the event, and what is accepted.
 */

import type { Pool } from 'pg'
import type { Nodes } from '../chain/agreement.ts'
import type { BlockRef } from '../chain/blocks.ts'
import type { FollowStep, Refusal } from '../chain/follow.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { ChainRefused, Unavailable } from '../core/errors.ts'
import type { ChainKey } from '../core/networks.ts'
import type { EventLog } from '../event-log/log.ts'
import type { Row } from '../event-log/table-rows.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { chainAggregate, chainStream } from './aggregate.ts'
import type { WalkedBlocks } from './cursor.ts'
import type { ChainEvent, ReorgAccepted, ReorgDetected } from './events.ts'

/** Final blocks come in epochs of some seconds or minutes. */
const LOOK_INTERVAL_MS = 10_000

export type Finality = {
  /** The newest final block at the cursor or below; `null` where the chain has none. Asks the nodes at most every ten seconds. */
  readonly at: (cursor: BlockRef) => Promise<BlockRef | null>
  /** The step, or a refusal where it would undo a final block. */
  readonly judged: (step: FollowStep) => Promise<FollowStep>
}

export function createFinality({
  client,
  walked,
  accepted,
  settings,
}: {
  readonly client: Pick<Nodes, 'newest'>
  readonly walked: Pick<WalkedBlocks, 'final' | 'hash'>
  readonly accepted: ReadAccepted
  readonly settings: Pick<ChainSettings, 'chainId' | 'finalizes'>
}): Finality {
  const { chainId, finalizes } = settings
  let lookedAt = Number.NEGATIVE_INFINITY
  /** `undefined`: not read yet. */
  let last: BlockRef | null | undefined

  return {
    async at(cursor) {
      if (finalizes !== true) return null
      if (last === undefined) last = await walked.final(chainId)
      if (performance.now() - lookedAt < LOOK_INTERVAL_MS) return last
      lookedAt = performance.now()
      const named = await client.newest('finalized').catch(asSilence)
      if (named === null || named.number > cursor.number || named.number <= (last?.number ?? -1)) return last
      const hash = named.number === cursor.number ? cursor.hash : await walked.hash(chainId, named.number)
      // A final block of another branch than the followed one: the reorg to that branch comes first.
      if (hash === named.hash) last = named
      return last
    },
    async judged(step) {
      if (step.type !== 'reorg') return step
      // The commit of the step forgets the final block of a branch that an operator gives up.
      const stands = step.genesis === undefined ? await walked.final(chainId) : null
      last = stands
      if (stands === null || step.to.number >= stands.number) return step
      const word = (await accepted())?.final
      if (word?.number === stands.number && word.hash === stands.hash) {
        last = null
        return step
      }
      const reason =
        `the nodes show another chain from block ${step.to.number + 1} on, and block ${stands.number} (${stands.hash}), which was followed, ` +
        'is final: nothing is undone. If the chain was changed on purpose, run npm run bursar -- accept-reorg'
      return {
        type: 'refused',
        head: step.head,
        reason,
        refusal: { from: step.to.number + 1, final: stands, genesis: null },
      }
    },
  }
}

/** Nodes that name no final block, or too few that agree on one: the last one stands. */
function asSilence(error: unknown): null {
  if (error instanceof Unavailable || error instanceof ChainRefused) return null
  throw error
}

type RefusedReorg = Refusal & { readonly reason: string; readonly sinceMs: number }

/** What the follower of the chain refuses now; `null` for nothing. */
export async function readRefused(pool: Pool, chainId: number): Promise<RefusedReorg | null> {
  const { rows } = await pool.query<
    Pick<Row<'chain_stalls', { refusal: Refusal }>, 'reason' | 'refusal'> & { ms: number }
  >(
    `SELECT reason, refusal, extract(epoch FROM clock_timestamp() - since)::double precision * 1000 AS ms
       FROM chain_stalls WHERE chain_id = $1 AND refusal IS NOT NULL`,
    [chainId],
  )
  const [row] = rows
  return row === undefined ? null : { ...row.refusal, reason: row.reason, sinceMs: row.ms }
}

/** Transactions in blocks that would be undone, and how many of them have an outcome that was reported (`told`). */
export async function countUndone(
  pool: Pool,
  chainId: number,
  block: number,
): Promise<{ readonly count: number; readonly told: number }> {
  const { rows } = await pool.query<{ count: number; told: number }>(
    `SELECT count(*)::integer AS count, count(*) FILTER (WHERE status <> 'pending')::integer AS told
       FROM ${TRANSACTIONS} AS transactions WHERE chain_id = $1 AND block_number >= $2`,
    [chainId, block],
  )
  return rows[0] ?? { count: 0, told: 0 }
}

/** It holds for exactly this final block or block 0, whatever the nodes show by then. */
export async function acceptReorg(
  log: Pick<EventLog, 'execute' | 'now'>,
  chain: ChainKey,
  { final, genesis }: RefusedReorg,
  reason: string,
): Promise<void> {
  const fact = { type: 'ReorgAccepted', data: { final, genesis, reason, acceptedAt: log.now() } } as const
  const metadata = { tenantId: 'system', actor: 'operator' }
  await log.execute(chainAggregate, chainStream(chain), fact, { metadata })
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
