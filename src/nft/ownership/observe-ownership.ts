/**
 * Decides what to record of ownership from processed blocks; the follower commits them together with its cursor. A collection's
 * address is known before its contract exists, so every move is seen from its first mint on, whoever sent it. One query
 * finds collections among the contracts of a step; no node is called.
 *
 * A reorg beyond the follower's window is undone as far as the window reaches.
 */
import type { Pool } from 'pg'
import type { Block } from '../../chain/blocks.ts'
import type { Context } from '../../context.ts'
import { type Decision, decideOn } from '../../event-log/aggregate.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { ownershipAggregate } from './aggregate.ts'
import type { OwnershipCommand } from './decider.ts'
import type { MovesOfBlock } from './events.ts'
import { loadOwners, type TouchedCollection } from './load-owners.ts'
import { contractsMoving, movesIn } from './moves.ts'
import { standingMoves } from './standing-moves.ts'

type Touched = TouchedCollection & { readonly tenantId: string }

/** Decisions for the collections whose tokens these blocks moved. @param blocks consecutive, oldest first */
export async function observeOwnership(
  ctx: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  blocks: readonly Block[],
): Promise<Decision[]> {
  const contracts = contractsMoving(blocks)
  if (contracts.length === 0) return []
  const collections = await findCollections(ctx.pool, chainId, contracts)
  if (collections.length === 0) return []
  const moved = movesIn(
    blocks,
    chainId,
    collections.map(({ contract }) => contract),
  )
  const touched = collections.flatMap(({ collectionId, tenantId, contract }) => {
    const ofContract = moved.get(contract)
    return ofContract === undefined ? [] : [{ collectionId, tenantId, blocks: ofContract }]
  })
  const now = ctx.log.now()
  return decisionsOf(ctx, chainId, touched, (ofCollection) => ({ type: 'RecordMoves', blocks: ofCollection, now }))
}

/** Decisions for the collections with moves above the newest block still on the chain. */
export async function unwindOwnership(
  ctx: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  ancestorNumber: number,
): Promise<Decision[]> {
  const touched: Touched[] = []
  for (const { collectionId, tenantId } of await findMovedAbove(ctx.pool, chainId, ancestorNumber)) {
    const blocks = await standingMoves(ctx.pool, collectionId, ancestorNumber)
    if (blocks.length > 0) touched.push({ collectionId, tenantId, blocks })
  }
  const now = ctx.log.now()
  return decisionsOf(ctx, chainId, touched, (blocks) => ({ type: 'RecordReorg', blocks, ancestorNumber, now }))
}

async function decisionsOf(
  ctx: Pick<Context, 'pool' | 'log'>,
  chainId: number,
  touched: readonly Touched[],
  command: (blocks: readonly MovesOfBlock[]) => OwnershipCommand,
): Promise<Decision[]> {
  if (touched.length === 0) return []
  const loaded = await loadOwners(ctx, chainId, touched)
  return touched.flatMap(({ tenantId, blocks }, index) => {
    const owners = loaded[index]
    if (owners === undefined) throw new Error('a collection was not loaded')
    const metadata = { tenantId, actor: 'worker:chain-follower' }
    return decideOn(ownershipAggregate, owners, command(blocks), { metadata, now: ctx.log.now() }) ?? []
  })
}

type CollectionRow = Pick<Row<'nft_collections'>, 'collection_id' | 'tenant_id' | 'contract_address'>

async function findCollections(pool: Pool, chainId: number, contracts: readonly string[]) {
  const { rows } = await pool.query<CollectionRow>({
    name: 'collections_of_contracts',
    text: `SELECT collection_id, tenant_id, contract_address FROM nft_collections
            WHERE chain_id = $1 AND lower(contract_address) = ANY ($2)`,
    values: [chainId, contracts],
  })
  return rows.map((row) => ({
    collectionId: row.collection_id,
    tenantId: row.tenant_id,
    contract: row.contract_address,
  }))
}

async function findMovedAbove(pool: Pool, chainId: number, ancestorNumber: number) {
  const { rows } = await pool.query<Pick<CollectionRow, 'collection_id' | 'tenant_id'>>({
    name: 'collections_moved_above',
    text: `SELECT DISTINCT c.collection_id, c.tenant_id FROM nft_owners o JOIN nft_collections c USING (collection_id)
            WHERE o.chain_id = $1 AND o.block_number > $2 ORDER BY c.collection_id`,
    values: [chainId, ancestorNumber],
  })
  return rows.map((row) => ({ collectionId: row.collection_id, tenantId: row.tenant_id }))
}
