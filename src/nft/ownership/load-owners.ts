/**
 * Loads the holders of the tokens that a step touches, without reading the streams, which grow as long as a collection
 * is traded: the read model is their fold, written in the transaction of each append.
 */
import type { Pool } from 'pg'
import type { Loaded } from '../../event-log/aggregate.ts'
import type { EventLog } from '../../event-log/log.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { ownershipAggregate } from './aggregate.ts'
import type { MovesOfBlock } from './events.ts'
import { type Holding, holdingKey, type OwnershipState, stateOf } from './state.ts'

/** The moves or undone moves of a step in one collection; at least one block. */
export type TouchedCollection = { readonly collectionId: string; readonly blocks: readonly MovesOfBlock[] }

type OwnerRow = Pick<Row<'nft_owners'>, 'collection_id' | 'token_id' | 'owner' | 'amount' | 'block_number'>

/**
 * The collections in the given order; each state contains only the touched holders.
 *
 * Invariant: heads are read before rows. If another follower appends in between, the loaded version is too low and the
 * append is refused as a conflict; in the other order it would be decided on old rows and accepted.
 */
export async function loadOwners(
  { pool, log }: { readonly pool: Pool; readonly log: Pick<EventLog, 'heads'> },
  chainId: number,
  touched: readonly TouchedCollection[],
): Promise<Loaded<OwnershipState>[]> {
  const heads = await log.heads(touched.map(({ collectionId }) => `${ownershipAggregate.category}-${collectionId}`))
  const holders = touched.flatMap(holdersOf)
  // LATERAL with OFFSET: one index lookup for each, whatever the statistics of a fast growing table say.
  const { rows } = await pool.query<OwnerRow>({
    name: 'touched_owners',
    text: `SELECT o.collection_id, o.token_id, o.owner, o.amount, o.block_number
             FROM unnest($2::text[], $3::numeric[], $4::text[]) AS touched(contract, token_id, owner)
            CROSS JOIN LATERAL (SELECT * FROM nft_owners n WHERE n.chain_id = $1 AND n.contract = touched.contract
                                   AND n.token_id = touched.token_id AND n.owner = touched.owner OFFSET 0) AS o`,
    values: [
      chainId,
      holders.map(({ contract }) => contract),
      holders.map(({ tokenId }) => tokenId),
      holders.map(({ owner }) => owner),
    ],
  })
  const holdings = new Map<string, Holding[]>(touched.map(({ collectionId }) => [collectionId, []]))
  for (const row of rows) holdings.get(row.collection_id)?.push(toHolding(row))
  return touched.map(({ collectionId, blocks: [block] }, index) => {
    const { version, hash } = heads[index] ?? { version: 0, hash: '' }
    const place = block === undefined ? null : { chainId, contract: block.contract }
    const state = stateOf(place, holdings.get(collectionId) ?? [])
    return { id: collectionId, state, version, hash }
  })
}

/** Every token and holder in the moves, once. */
function holdersOf({ blocks }: TouchedCollection) {
  const holders = new Map<string, { contract: string; tokenId: string; owner: string }>()
  for (const { contract, moves } of blocks) {
    for (const { tokenId, from, to } of moves) {
      for (const owner of [from, to]) {
        if (owner !== null) holders.set(holdingKey({ tokenId, owner }), { contract, tokenId, owner })
      }
    }
  }
  return [...holders.values()]
}

function toHolding({ token_id, owner, amount, block_number }: OwnerRow): Holding {
  return { tokenId: token_id, owner, amount: BigInt(amount), blockNumber: Number(block_number) }
}
