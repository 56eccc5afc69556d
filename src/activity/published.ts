/**
 * Observed transfers as public events. Whom to notify stands in the event that observed the transfer: the settings of the
 * wallet may have changed since.
 */
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { observedTransferAggregate } from './aggregate.ts'
import type { Notice } from './events.ts'
import { transferAtEventSchema } from './schemas.ts'
import { toTransfer } from './view.ts'

/** Which notices of a transfer cause a public event. */
const CAUSES = {
  'deposit.detected': ['deposit'],
  'deposit.confirmed': ['deposit'],
  'deposit.orphaned': ['deposit'],
  'watch.incoming': ['incoming'],
  'watch.large_transfer': ['large_transfer'],
  'watch.confirmed': ['incoming', 'large_transfer'],
  'watch.orphaned': ['incoming', 'large_transfer'],
} as const satisfies Readonly<Record<string, readonly Notice[]>>

export const publishedTransfers = published(observedTransferAggregate, {
  resource: 'observed_transfer',
  scope: 'transactions:read',
  types: {
    'deposit.detected': 'A transfer to a wallet is in a block.',
    'deposit.confirmed': 'The block of a deposit has the required confirmations.',
    'deposit.orphaned':
      'The block of a deposit left the chain, possibly after it was confirmed. If another block includes it, it is detected again.',
    'watch.incoming': 'A transfer to a watch wallet with `incoming_transactions` is in a block.',
    'watch.large_transfer':
      'A transfer to or from a watch wallet with `large_transfers` is in a block, and its value is at least the threshold.',
    'watch.confirmed': 'The block of a transfer that was notified of has the required confirmations.',
    'watch.orphaned': 'The block of a transfer that was notified of left the chain.',
  },
  events: {
    TransferObserved: ['deposit.detected', 'watch.incoming', 'watch.large_transfer'],
    TransferConfirmed: ['deposit.confirmed', 'watch.confirmed'],
    TransferOrphaned: ['deposit.orphaned', 'watch.orphaned'],
  },
  schema: transferAtEventSchema,
  render(source, type) {
    const { id, after } = source
    const [row] = projectChange(observedTransferAggregate, source, 'observed_transfers')
    const causes: readonly Notice[] = CAUSES[type]
    if (row === undefined || after.status === 'unknown') return null
    if (!after.transfer.notices.some((notice) => causes.includes(notice))) return null
    const data = toTransfer(row as Parameters<typeof toTransfer>[0])
    // Old events keep their bytes: it is missing where it is false.
    return { resourceId: id, data: after.transfer.notices.includes('unopened') ? { ...data, unopened: true } : data }
  },
})
