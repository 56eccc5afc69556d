/** Transactions as public events: each is the transaction as of that event. */

import { Type } from '@sinclair/typebox'
import { type Published, published } from '../capability.ts'
import { named } from '../http/components.ts'
import { nullable } from '../http/schemas.ts'
import { ofOpenings } from './all-events.ts'
import { transactionFold, viewOfFolded } from './fold-view.ts'
import { transactionSchema } from './schemas.ts'
import { swapSchema } from './swap-schemas.ts'
import type { TransactionView } from './view.ts'

/** Without what depends on the settings or the present time, and what published events do not have. */
function schemaAtEvent() {
  return named(
    'TransactionAtEvent',
    Type.Object({
      ...Type.Omit(transactionSchema(), ['required_confirmations', 'waiting', 'swap']).properties,
      swap: nullable(
        named(
          'SwapAtEvent',
          Type.Object(
            {
              ...Type.Omit(swapSchema, ['failure_guessed', 'private', 'missing_to_amount']).properties,
              missing_to_amount: Type.Optional(swapSchema.properties.missing_to_amount),
            },
            { description: swapSchema.description ?? '' },
          ),
        ),
      ),
    }),
  )
}

/** What is missing stands in the events that tell it, and in no older one. */
function swapAtEvent(
  { failure_guessed: _, private: __, missing_to_amount: missing, ...swap }: NonNullable<TransactionView['swap']>,
  type: string,
) {
  return type === 'transaction.fell_short' ? { ...swap, missing_to_amount: missing } : swap
}

export function publishedTransactions(): Published {
  return published(transactionFold, {
    resource: 'transaction',
    scope: 'transactions:read',
    types: {
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
      'transaction.fell_short':
        'A swap was confirmed, and less arrived than it had to give: `swap.missing_to_amount` says how much.',
      'transaction.reverted': 'The transaction failed in its block, which has the required number of confirmations.',
      'transaction.failed': 'The transaction ended without a block.',
      'transaction.cancelled':
        'The transaction was cancelled: it moves nothing. A cancellation on chain has the required number of confirmations.',
    },
    events: {
      ...ofOpenings(['transaction.requested']),
      TransactionSigned: ['transaction.signed'],
      TransactionReplaced: ['transaction.replaced'],
      TransactionSubmitted: ['transaction.submitted'],
      TransactionAwaitingFunds: ['transaction.awaiting_funds'],
      TransactionMined: ['transaction.mined'],
      TransactionReorged: ['transaction.reorged'],
      SettlementRevoked: ['transaction.settlement_revoked'],
      TransactionConfirmed: ['transaction.confirmed', 'transaction.fell_short'],
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
      if (view === null || (type === 'transaction.fell_short' && view.swap?.missing_to_amount == null)) return null
      const { required_confirmations: _, waiting: __, ...data } = view
      return {
        resourceId: source.id,
        data: { ...data, swap: data.swap === null ? null : swapAtEvent(data.swap, type) },
      }
    },
  })
}
