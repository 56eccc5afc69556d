/** The read model of owners: a row for each token and holder in an event. Pure. */
import type { Aggregate, ProjectionContext, ReadModelChanges } from '../../event-log/aggregate.ts'
import { type OwnershipCommand, ownershipDecider } from './decider.ts'
import type { OwnershipEvent } from './events.ts'
import { changedHoldings, type OwnershipState } from './state.ts'

const first = { version: 1, upcasters: [] }

export const ownershipAggregate: Aggregate<OwnershipState, OwnershipCommand, OwnershipEvent, 'nft_owners'> = {
  ...ownershipDecider,
  category: 'ownership',
  schemas: { TokensMoved: first, OwnershipReorged: first },
  project,
}

function project(
  before: OwnershipState,
  after: OwnershipState,
  { id }: ProjectionContext,
): ReadModelChanges<'nft_owners'> {
  const { place } = after
  if (place === null) return { rows: [], holds: [] }
  const rows = changedHoldings(before, after).map(({ tokenId, owner, amount, blockNumber }) => ({
    table: 'nft_owners' as const,
    row: {
      chain_id: place.chainId,
      contract: place.contract,
      token_id: tokenId,
      owner,
      amount: amount.toString(),
      block_number: blockNumber,
      collection_id: id,
    },
  }))
  return { rows, holds: [] }
}
