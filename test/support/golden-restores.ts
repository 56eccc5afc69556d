/**
 * The last part of the golden log: restores with tags, transactions that an operator judged, evidence and ranges of
 * indexes; keys that belong to a request. Then API keys that others made.
 */
import { readFileSync } from 'node:fs'
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
  // An operator deploys the guard of swaps, and a swap goes through it.
  [['transaction-tx_guard', 'SwapGuardDeployRequested.v1']],
  [['swap-swap_2', 'SwapRecorded.v1', guarded()]],
]

/** What differs in a swap by a hosted source, through the guard. */
function guarded() {
  const file = new URL('../golden/events/SwapRecorded.v1.json', import.meta.url)
  const { quote } = JSON.parse(readFileSync(file, 'utf8')).data
  const spender = '0xe2ec35C16Af6f5562e5176D62833fBe3d2b88BA1'
  const route = {
    type: 'hosted',
    source: '0x',
    guard: { address: spender, sold: quote.fromAsset.contract, bought: null },
    contract: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    spender: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    data: '0x12345678',
    value: '0',
    amountIn: '3000000000',
    amountOut: '998000000000000000',
    limit: '993010000000000000',
  }
  const ids = { transactionId: 'tx_guarded', approvalIds: ['tx_guarded_approval'] }
  return { ...ids, quote: { ...quote, quoteId: 'quo_2', route }, spender, sequence: 1 }
}

const ROTATION_KEY = { key: 'key-rotation', fingerprint: 'of-key-rotation' }

const A_DAY = [{ of: 'usd', counter: 'key_5 usd 86400', amount: '1000000000', windowSeconds: 86_400, inherited: false }]

const RESERVED = [
  {
    counter: 'key_5 usd 86400',
    unit: 'USD',
    decimals: 6,
    bucket: '2026-11-30T13:00:00.000Z',
    windowSeconds: 86_400,
    limit: '1000000000',
    amount: '35000000',
    kept: '1000000',
  },
]

const REQUESTS = [
  { of: 'requests', counter: 'key_6 requests 86400', amount: '1000', windowSeconds: 86_400, inherited: false },
]

export const API_KEYS: readonly (readonly Step[])[] = [
  [['apikey-key_2', 'ApiKeyIssued.v2', {}, { key: 'api-key', fingerprint: 'of-api-key' }]],
  [['apikey-key_2', 'ApiKeyChanged.v1']],
  [
    ['apikey-key_3', 'ApiKeyIssued.v2', { digest: 'd3'.repeat(32), rotatedFrom: 'key_2' }, ROTATION_KEY],
    ['apikey-key_2', 'ApiKeyRotated.v1', {}, ROTATION_KEY],
  ],
  [['apikey-key_2', 'ApiKeyExpired.v1']],
  [['apikey-key_3', 'ApiKeyRevoked.v2']],
  // One that may make keys, and what it makes and changes.
  [['apikey-key_4', 'ApiKeyIssued.v2', { digest: 'd4'.repeat(32), expiresAt: null, issuedBy: null }]],
  [['apikey-key_5', 'ApiKeyIssued.v2', { digest: 'd5'.repeat(32), expiresAt: null, issuedBy: 'key_4' }]],
  [['apikey-key_5', 'ApiKeyChanged.v1', { expiresAt: null, changedBy: 'key_4', limits: A_DAY }]],
  // It spends of its limit; what fails gives it back.
  [['transaction-tx_24', 'TransferRequested.v3', { reservations: RESERVED }]],
  [['transaction-tx_25', 'TransferRequested.v3', { reservations: RESERVED }]],
  [['transaction-tx_25', 'TransactionFailed.v1']],
  [['keylimit-key_5', 'ApiKeyLimitReached.v1']],
  // Another whose requests of a day are limited, and have reached that.
  [
    [
      'apikey-key_6',
      'ApiKeyIssued.v2',
      { digest: 'd6'.repeat(32), expiresAt: null, issuedBy: 'key_4', limits: REQUESTS },
    ],
  ],
  [['keylimit-key_6', 'ApiKeyLimitReached.v1', { limit: REQUESTS[0], left: '0', needed: '1' }]],
]
