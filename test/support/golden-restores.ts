/** The part of the golden log about restores: tags, transactions that an operator judged, evidence, ranges of indexes. */
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
]
