/**
 * Uses of vouchers in blocks from before uses were recorded. Until their tokens are burnt a holder shows them, and then only the
 * recorded moves of their collection: what those show is recorded once, as the follower does for new blocks. No node is asked.
 */
import type { Pool } from 'pg'
import type { Context } from '../../context.ts'
import type { Decision } from '../../event-log/aggregate.ts'
import type { EventLog } from '../../event-log/log.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { doneInSql } from '../outcome.ts'
import type { MovesOfBlock } from '../ownership/events.ts'
import { standingMoves } from '../ownership/standing-moves.ts'
import { mintAggregate } from './mint-aggregate.ts'
import type { VoucherUse } from './mint-events.ts'
import { decideEach } from './observe-uses.ts'

/** In one commit. */
const AT_ONCE = 500

/** What is left to record; it is not looked for again once there is nothing. */
export function createEarlierUses(
  ctx: Pick<Context, 'pool'> & { readonly log: Pick<EventLog, 'loadMany' | 'now'> },
  chainId: number,
): () => Promise<Decision[]> {
  let isDone = false
  /** Mints whose log is held: tried again when the follower starts again. */
  const left = new Set<string>()
  return async () => {
    if (isDone) return []
    const found = [...(await findUses(ctx.pool, chainId))].filter(([id]) => !left.has(id))
    const uses = new Map(found.slice(0, AT_ONCE))
    isDone = uses.size === 0
    const { now } = ctx.log
    const decisions = await decideEach(ctx, [...uses.keys()], (id) => {
      const use = uses.get(id)
      return use === undefined ? null : { type: 'RecordUse', use, now: now() }
    })
    const decided = new Set(decisions.flatMap(({ events }) => events.map(({ streamId }) => streamId)))
    for (const id of uses.keys()) if (!decided.has(`${mintAggregate.category}-${id}`)) left.add(id)
    return decisions
  }
}

type Unrecorded = Pick<Row<'nft_tokens'>, 'mint_id' | 'collection_id' | 'token_id'>

/** By mint. Of a redemption of its own, the transaction shows it. */
async function findUses(pool: Pool, chainId: number): Promise<ReadonlyMap<string, VoucherUse>> {
  const { rows } = await pool.query<Unrecorded>({
    name: 'unrecorded_uses',
    text: `SELECT v.mint_id, t.collection_id, t.token_id FROM nft_vouchers v JOIN nft_tokens t ON t.mint_id = v.mint_id
             LEFT JOIN ${TRANSACTIONS} x ON x.transaction_id = t.transaction_id
            WHERE v.chain_id = $1 AND v.used_as IS NULL AND NOT ${doneInSql('x')}
              AND EXISTS (SELECT FROM nft_owners n
                           WHERE n.chain_id = v.chain_id AND n.contract = v.contract AND n.token_id = t.token_id)
            ORDER BY v.mint_id`,
    values: [chainId],
  })
  const uses = new Map<string, VoucherUse>()
  for (const id of new Set(rows.map(({ collection_id }) => collection_id))) {
    const minted = mintedIn(await standingMoves(pool, id, -1))
    for (const { mint_id, collection_id, token_id } of rows) {
      const use = collection_id === id ? minted.get(token_id) : undefined
      if (use !== undefined) uses.set(mint_id, use)
    }
  }
  return uses
}

/** By token id. */
function mintedIn(blocks: readonly MovesOfBlock[]): ReadonlyMap<string, VoucherUse> {
  return new Map(
    blocks.flatMap(({ blockNumber, blockHash, moves }) =>
      moves
        .filter(({ from }) => from === null)
        .map(({ tokenId, to: recipient }): [string, VoucherUse] => [
          tokenId,
          { as: 'minted', recipient, hash: null, transactionId: null, blockNumber, blockHash },
        ]),
    ),
  )
}
