/** The declaration of activity: transfers that were observed on chain. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { ObservedTransferEvent } from './events.ts'

/** After a reorg it is observed again, as another block has it. */
const OBSERVED = [
  ...WHOLE_ROW,
  'status',
  'log_index',
  'counterparty',
  'transaction_id',
  'asset_id',
  'asset_symbol',
  'asset_decimals',
  'asset_contract',
  'amount',
  'valuation',
  'block_number',
  'block_hash',
  'block_timestamp',
] as const

export const activity = {
  name: 'activity',
  ids: { observedTransfer: 'obs' },
  tables: { observed_transfers: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'follower']) } },
  streams: {
    observed: {
      rows: {
        observed_transfers: {
          of: '{transfer_id}',
          changes: { TransferObserved: OBSERVED, TransferConfirmed: ['status'], TransferOrphaned: ['status'] },
        },
      },
      readScope: 'transactions:read',
      events: {
        TransferObserved: ['follower'],
        TransferConfirmed: ['follower'],
        TransferOrphaned: ['follower'],
      } satisfies EventWriters<ObservedTransferEvent>,
    },
  },
  counters: {
    bursar_observed_transfers_total: {
      help: 'Transfers to and from wallets that the follower recorded: `detected` in a block, `confirmed`, or `orphaned` by a reorg.',
      labels: ['network', 'direction', 'status'],
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly activity: typeof activity
  }
}
