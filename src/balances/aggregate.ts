/** The read model of balances: one row for each observed asset of a wallet. Pure. */
import type { Aggregate, ProjectionContext, ReadModelChanges, ReadModelRow } from '../event-log/aggregate.ts'
import { type BalanceCommand, balanceDecider } from './decider.ts'
import type { BalanceEvent } from './events.ts'
import type { BalanceState } from './state.ts'

const first = { version: 1, upcasters: [] }

export const balanceAggregate: Aggregate<BalanceState, BalanceCommand, BalanceEvent, 'balances'> = {
  ...balanceDecider,
  category: 'balance',
  schemas: { BalanceChanged: first, BalanceReorged: first },
  project,
}

function project(
  before: BalanceState,
  after: BalanceState,
  { id, tenantId }: ProjectionContext,
): ReadModelChanges<'balances'> {
  const rows: ReadModelRow<'balances'>[] = []
  for (const [assetId, known] of Object.entries(after)) {
    // `evolve` keeps untouched objects: a different object means a different observation.
    if (before[assetId] === known) continue
    const { balance, blockNumber, blockHash, observedAt } = known
    rows.push({
      table: 'balances',
      row: {
        wallet_id: id,
        asset_id: assetId,
        tenant_id: tenantId,
        balance,
        block_number: blockNumber,
        block_hash: blockHash,
        updated_at: observedAt,
      },
    })
  }
  return { rows, holds: [] }
}
