/** Transactions as public events: each is the transaction as of that event. */

import { Type } from '@sinclair/typebox'
import { type Published, published } from '../capability.ts'
import { named } from '../http/components.ts'
import { ofOpenings } from './all-events.ts'
import { transactionFold, viewOfFolded } from './fold-view.ts'
import { confirmedTypes, isTold, partSchemasAtEvent, partsAtEvent } from './parts.ts'
import { transactionSchema } from './schemas.ts'

/** Without what depends on the settings or the present time, and what published events do not have. */
function schemaAtEvent() {
  const parts = partSchemasAtEvent()
  return named(
    'TransactionAtEvent',
    Type.Object({
      ...Type.Omit(transactionSchema(), ['required_confirmations', 'waiting', ...Object.keys(parts)] as const)
        .properties,
      ...parts,
    }),
  )
}

function typesOfTransactions(): Readonly<Record<string, string>> {
  return {
    'transaction.requested': 'A transaction was accepted. It will be signed and sent.',
    'transaction.signed': 'A transaction was signed with a nonce. Its hash is known.',
    'transaction.submitted': 'A node accepted the signed transaction.',
    'transaction.awaiting_funds':
      'A node refused the signed transaction because the wallet cannot pay. It is sent again later.',
    'transaction.replaced':
      'The transaction was signed again for the same nonce: with higher fees, or as a cancellation.',
    'transaction.nonce_taken': 'Another program used the nonce of the transaction. It will be signed with a new one.',
    'transaction.mined':
      'The transaction is in a block, or its cancellation if its state is `cancelling`. A chain reorganisation can still remove it. The outcome follows.',
    'transaction.reorged':
      'The block of the transaction left the chain before the transaction was final. It is sent again.',
    'transaction.settlement_revoked':
      'The block of the transaction left the chain after its outcome was reported: that outcome no longer holds. It is sent again.',
    'transaction.confirmed': 'The transaction succeeded and has the required number of confirmations.',
    ...confirmedTypes(),
    'transaction.reverted': 'The transaction failed in its block, which has the required number of confirmations.',
    'transaction.failed': 'The transaction ended without a block.',
    'transaction.cancelled':
      'The transaction was cancelled: it moves nothing. A cancellation on chain has the required number of confirmations.',
  }
}

export function publishedTransactions(): Published {
  return published(transactionFold, {
    resource: 'transaction',
    scope: 'transactions:read',
    types: typesOfTransactions(),
    events: {
      ...ofOpenings(['transaction.requested']),
      TransactionSigned: ['transaction.signed'],
      TransactionReplaced: ['transaction.replaced'],
      TransactionSubmitted: ['transaction.submitted'],
      TransactionAwaitingFunds: ['transaction.awaiting_funds'],
      TransactionMined: ['transaction.mined'],
      TransactionReorged: ['transaction.reorged'],
      SettlementRevoked: ['transaction.settlement_revoked'],
      TransactionConfirmed: ['transaction.confirmed', ...Object.keys(confirmedTypes())],
      TransactionReverted: ['transaction.reverted'],
      TransactionFailed: ['transaction.failed'],
      // The wishes of the owner: what they cause is published.
      CancellationRequested: [],
      SpeedUpRequested: [],
      TransactionCancelled: ['transaction.cancelled'],
      NonceConsumedExternally: ['transaction.nonce_taken'],
      LookalikeRejected: [],
      LookalikeHeld: [],
    },
    schema: schemaAtEvent(),
    render(source, type) {
      const view = viewOfFolded(source, 0)
      if (view === null || isTold(view, type) === false) return null
      const { required_confirmations: _, waiting: __, ...data } = view
      return { resourceId: source.id, data: { ...data, ...partsAtEvent(view, type) } }
    },
  })
}
