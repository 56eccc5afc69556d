/** The read model of balances: a row for each asset of a wallet that was observed. Pure. */
import type { Aggregate, ProjectionContext, ReadModelChanges, ReadModelRow } from '../event-log/aggregate.ts'
import { type BalanceCommand, balanceDecider } from './decider.ts'
import type { BalanceEvent } from './events.ts'
import type { BalanceState } from './state.ts'

const first = { version: 1, upcasters: [] }

export const balanceAggregate: Aggregate<BalanceState, BalanceCommand, BalanceEvent> = {
  ...balanceDecider,
  category: 'balance',
  schemas: { BalanceChanged: first, BalanceReorged: first },
  project,
}

function project(before: BalanceState, after: BalanceState, { id, tenantId }: ProjectionContext): ReadModelChanges {
  const rows: ReadModelRow[] = []
  for (const [assetId, known] of Object.entries(after)) {
    // Evolving keeps what it does not touch: another object is another observation.
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
