/** The declaration of transactions: everything that wallets send to a chain. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, LANE_LIMITS, type StepDeclaration } from '../core/declaration.ts'
import type { LaterEvent, TagKeyAdopted } from './events.ts'

const IN_FLIGHT = ['signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds'] as const
const UNMINED = ['requested', ...IN_FLIGHT] as const
const SETTLED = ['confirmed', 'reverted', 'cancelled'] as const

/** As the decider allows them. The follower reports bytes in a block whatever became of their transaction. */
const STEPS = {
  TransactionSigned: { from: ['requested'], to: 'signed', fee: 'signed', mustFit: true },
  TransactionReplaced: { from: IN_FLIGHT, to: 'replaced', fee: 'raised', mustFit: true },
  TransactionSubmitted: { from: IN_FLIGHT, to: 'submitted' },
  TransactionAwaitingFunds: { from: IN_FLIGHT, to: 'awaiting_funds' },
  TransactionMined: {
    from: [...UNMINED, ...SETTLED, 'failed', 'TransactionReorged', 'SettlementRevoked'],
    to: 'mined',
    cancelsTo: 'cancelling',
  },
  TransactionReorged: { from: ['mined', 'cancelling'], to: 'reorged' },
  SettlementRevoked: { from: SETTLED, to: 'reorged' },
  TransactionConfirmed: { from: ['mined'], to: 'confirmed' },
  TransactionReverted: { from: ['mined'], to: 'reverted' },
  NonceConsumedExternally: { from: IN_FLIGHT, to: 'requested', fee: 'reserved' },
  TransactionFailed: { from: ['requested', 'NonceConsumedExternally'], to: 'failed' },
  LookalikeRejected: { from: UNMINED },
  LookalikeHeld: { from: UNMINED },
  CancellationRequested: { from: UNMINED },
  SpeedUpRequested: { from: UNMINED },
  // Only what was never signed is cancelled without a final block or the proof of another use of its nonce.
  TransactionCancelled: { from: ['requested', 'cancelling', 'NonceConsumedExternally'], to: 'cancelled' },
} as const satisfies Readonly<Record<LaterEvent['type'], StepDeclaration>>

const MOVED = ['state', 'history', 'updated_at'] as const
const SIGNED = [...MOVED, 'nonce', 'hash', 'hashes', 'fee_estimated', 'attention'] as const
const ENDED = [...MOVED, 'status'] as const
const BLOCK = [
  ...MOVED,
  'hash',
  'block_number',
  'block_hash',
  'succeeded',
  'amount_moved',
  'fee_actual',
  'logs',
  'attention',
] as const
const ASKED = ['attention', 'updated_at'] as const

/** The columns that the later events change. */
const CHANGES = {
  TransactionSigned: SIGNED,
  TransactionReplaced: SIGNED,
  TransactionSubmitted: MOVED,
  TransactionAwaitingFunds: MOVED,
  TransactionMined: [...BLOCK, 'status', 'failure'],
  TransactionReorged: BLOCK,
  SettlementRevoked: [...BLOCK, 'status', 'failure'],
  TransactionConfirmed: ENDED,
  TransactionReverted: [...ENDED, 'failure'],
  NonceConsumedExternally: [...MOVED, 'nonce', 'hash', 'fee_estimated', 'attention'],
  TransactionFailed: [...ENDED, 'failure', 'attention'],
  LookalikeRejected: ASKED,
  LookalikeHeld: ASKED,
  CancellationRequested: ASKED,
  SpeedUpRequested: ASKED,
  TransactionCancelled: [...ENDED, 'attention'],
} as const satisfies Readonly<Record<LaterEvent['type'], readonly string[]>>

export const transactions = {
  name: 'transactions',
  ids: { transaction: 'tx', transferBatch: 'batch' },
  scopes: { 'transactions:read': {}, 'transactions:write': {} },
  subjects: ['transfer_batch'],
  tables: {
    transactions: {
      follows: 'stream',
      grants: readBy([...READERS, 'dispatcher', 'signer', 'submitter', 'follower', 'party']),
    },
    wallet_holds: { follows: 'sum', grants: readBy([...READERS, 'signer']) },
    // Every append derives its changes from the events: no process sends them.
    spend_buckets: { follows: 'sum', grants: readBy([...READERS, 'signer']) },
    spend_counters: { beside: 'the locks of counters: an append takes that of each limit it counts on', grants: {} },
    foreign_nonces: {
      beside: 'read from the chain: the blocks that used nonces of wallets; missing ones are searched for again',
      isAppended: true,
      grants: readBy(['operator', 'signer'], { follower: 'SELECT, DELETE' }),
    },
    held_lanes: {
      beside: 'why signers sign nothing in a lane; they write it again with each try',
      grants: readBy(['operator'], { signer: 'SELECT, INSERT, UPDATE, DELETE' }),
    },
    unsimulated_transactions: {
      beside: 'requests that no node can simulate; signers write them again with each try',
      grants: readBy(['api', 'operator'], { signer: 'SELECT, INSERT, UPDATE, DELETE' }),
    },
    outside_transactions: {
      beside: 'read from the chain: transactions that a restored database does not contain',
      isAppended: true,
      grants: readBy([...READERS, 'dispatcher', 'signer', 'follower']),
    },
  },
  openings: {
    TransferRequested: { type: 'TRANSFER', writers: ['api'], since: 1 },
    // Requested by a lane: no transaction has the nonce that all its others wait for.
    NonceFillRequested: { type: 'NONCE_FILL', writers: ['signer'], since: 3, isUnjudged: true },
  },
  streams: {
    transaction: {
      rows: { transactions: { of: '{transaction_id}', changes: CHANGES }, wallet_holds: 'holds' },
      steps: STEPS,
      readScope: 'transactions:read',
      // Anyone who has signed bytes can submit them, even after their owner has cancelled the transaction: read scopes
      // are not enough.
      readScopeOf: { TransactionSigned: 'transactions:write', TransactionReplaced: 'transactions:write' },
      events: {
        TransactionSigned: ['signer'],
        TransactionReplaced: ['signer'],
        TransactionSubmitted: ['submitter'],
        TransactionAwaitingFunds: ['submitter'],
        TransactionMined: ['follower'],
        TransactionReorged: ['follower'],
        SettlementRevoked: ['follower'],
        TransactionConfirmed: ['follower'],
        TransactionReverted: ['follower'],
        NonceConsumedExternally: ['follower'],
        // A lane fails what it cannot sign; the follower fails a transaction whose nonces foreign transactions keep
        // using.
        TransactionFailed: ['signer', 'follower'],
        // Who has the key of tags decides; `bursar reconcile` runs as the database user of the signers.
        LookalikeRejected: ['signer'],
        LookalikeHeld: ['signer'],
        // A submitter cancels a transaction that can no longer be valid when it is mined.
        CancellationRequested: ['api', 'submitter'],
        SpeedUpRequested: ['api'],
        // The API ends a transaction that was never signed; the follower one whose cancellation is final.
        TransactionCancelled: ['api', 'follower'],
      } satisfies EventWriters<LaterEvent>,
    },
    // Of the installation, without a tenant's data.
    tagkey: { rows: {}, readScope: '*', events: { TagKeyAdopted: ['signer'] } satisfies EventWriters<TagKeyAdopted> },
  },
  signs: ['transaction'],
  queues: {
    // Partitions of lanes with requests to sign. Tenants take turns in the process that has them.
    lane: { limits: LANE_LIMITS, mpcLimits: LANE_LIMITS },
    // Signed transactions wait to be sent.
    submit: { limits: LANE_LIMITS },
  },
  errors: {
    validation_error: {
      amount_zero: 'Send an amount greater than 0.',
      expired: 'Use a time in the future.',
    },
    not_found: {
      transaction_not_found: 'Check the id. It may belong to another tenant or environment.',
      transaction_not_requested_yet: 'Use a later time: the transaction did not exist at this time.',
    },
    conflict: {
      already_failed: 'Nothing to do: the transaction has failed.',
      already_mined: 'Nothing to do: the transaction is in a block.',
      cancellation_requested: 'Wait for the cancellation.',
    },
  },
  counters: {
    bursar_call_requests_total: {
      help: 'Requests that send a swap or a contract call, by outcome: `accepted`, `repeated`, or the code of the error.',
      labels: ['kind', 'outcome'],
    },
    bursar_signed_total: { help: 'Signed transactions.', labels: ['network'] },
    bursar_signer_refused_total: {
      help: 'Transactions that the signer refused, because they do not match the event log or the key of the wallet.',
      labels: [],
    },
    bursar_not_simulated_total: {
      help: 'Failed simulations of a transaction where the error says nothing about the transaction. They are retried.',
      labels: ['network'],
    },
    bursar_lane_held_total: {
      help: 'Checks that found a lane held, because the chain has transactions that the event log does not have.',
      labels: ['network'],
    },
    bursar_recovered_total: {
      help: 'Signed transactions that were missing in the event log and were found on chain.',
      labels: ['network'],
    },
    bursar_transactions_ended_total: {
      help: 'Transactions whose end this process recorded, by outcome: `confirmed`, `cancelled`, or the code of the failure.',
      labels: ['network', 'type', 'outcome'],
    },
    bursar_outcomes_revoked_total: {
      help: 'Transactions whose reported outcome was revoked by a reorg.',
      labels: ['network', 'outcome'],
    },
  },
  tags: {
    Transactions: { description: 'Send transfers and follow transactions.', place: 20 },
  },
  quotas: {
    transactions_waiting: {
      kind: 'counted',
      place: 60,
      // One hour of transfers at 25 per second, on chains that mine none of them.
      default: 100_000,
      description: 'Maximum number of unmined transactions of a tenant',
      counted: 'unmined transactions',
      remedy: 'Wait until some are mined, or cancel some',
      retryAfterSeconds: 5,
    },
    calls_per_second: {
      kind: 'rate',
      place: 110,
      // Of contract calls, and of tests of policies that ask nodes as much.
      // A call asks a node up to five times before it is accepted.
      default: 50,
      description:
        'Maximum number of contract calls of a tenant per second and API process, in every mode. A burst can use ten seconds of it',
      counted: 'contract calls per second',
      remedy: 'Send the request again later',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly transactions: typeof transactions
  }
}
