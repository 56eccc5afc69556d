/**
 * The last part of the golden log: restores with tags, transactions that an operator judged, evidence and ranges of
 * indexes; keys that belong to a request.
 */
import type { Metadata } from '../../src/core/messages.ts'

type Step = readonly [
  stream: string,
  event: string,
  patch?: Readonly<Record<string, unknown>>,
  key?: Metadata['idempotency'],
]

const HELD = 'transaction-tx_held'
const HELD_KEY = { key: 'held', fingerprint: 'of-held' }
const CLAIMING = 'transaction-tx_claimed'
const CLAIMED = '0xcececececececececececececececececececececececececececececececece'

export const RESTORES: readonly (readonly Step[])[] = [
  [['tagkey-main', 'TagKeyAdopted.v1']],
  [[HELD, 'TransferRequested.v3', { idempotency: { key: 'held', part: 0 } }, HELD_KEY]],
  [[HELD, 'LookalikeHeld.v1']],
  [[HELD, 'LookalikeRejected.v1']],
  [[CLAIMING, 'TransferRequested.v3']],
  [[CLAIMING, 'LookalikeHeld.v1', { hash: CLAIMED }]],
  [[CLAIMING, 'TransactionSigned.v2', { nonce: 13, hash: CLAIMED, recovered: true, claimed: true }]],
  [['database-main', 'DatabaseIdentified.v1']],
  [['database-main', 'RestoreDetected.v1']],
  [['keyindexes-acme', 'KeyIndexRangeStarted.v1']],
  [['keyindexes-acme', 'KeyIndexSkipped.v1', { index: 5242880 }]],
  [['setaside-main', 'EventSetAside.v1', { streamId: 'balance-wal_gone' }]],
  [['request-req_2', 'RequestChangedNothing.v1', {}, { key: 'unchanged', fingerprint: 'of-unchanged' }]],
  [['wallet-wal_3', 'WalletArchived.v1']],
  [['wallet-wal_3', 'WalletRestored.v1', {}, { key: 'restore', fingerprint: 'of-restore', resourceId: 'req_3' }]],
]
