/** The declaration of the operator commands: what `stuck` finds that no capability declares. */
import type { Declaration } from '../core/declaration.ts'

export const operator = {
  name: 'operator',
  findings: [
    {
      place: 10,
      kinds: {
        database_down: 'the database does not answer',
        database_unfit: 'processes refuse the database: another schema, or transaction ids behind the log',
        database_not_durable: 'a crash of the database can lose what was answered',
        queue_down: 'the job queue does not answer',
        node_down: 'no node of a chain answers',
        process_missing: 'no process of a kind sends heartbeats',
        process_silent: 'one of several processes of a kind stopped sending heartbeats',
        keystore_wrong: 'the keystore of a signer does not have the seeds of the wallets',
        nobody_leads: 'a task that needs one leader has none',
        transaction_open: 'a database transaction on this server is left open, and readers of the log wait for it',
        subscription_behind: 'a subscription is behind the log',
        feed_behind: 'the event streams of an API process are behind the log',
      },
    },
    {
      place: 30,
      kinds: {
        follower_halted: 'a chain is not followed',
        quorum_missing: 'too few nodes of a chain answer or agree, so that nothing settles',
        follower_behind: 'the follower is far behind the head of its chain',
        lane_without_holder: 'requests wait to be signed, but no signer holds the partition of their lane',
        lane_not_signing: 'a signer holds the partition of a lane but does not sign it',
        not_as_recorded:
          'a request cannot be signed, because its row, its events, its wallet or the policy contradict each other',
        not_sent: 'no node has accepted a signed transaction',
      },
    },
    {
      place: 50,
      kinds: {
        not_mined: 'a node has accepted a transaction, but it is not mined',
        gas_too_low: 'a fork has made a signed transaction dearer, and its gas is too little',
        fee_under_base: 'the base fee is higher than the fee of the lowest nonce of a lane',
        fee_over_cap: 'the gas price of the network is above the configured cap',
        awaiting_funds: 'the wallet cannot pay for a signed transaction',
        nonce_gap: 'a nonce is unused, so later transactions of the lane cannot be mined',
        lane_held: 'nodes show more transactions of a lane than the log has, so nothing new is signed in it',
        nonce_taken: 'an unrecorded transaction used a nonce on chain',
        wish_not_done: 'a requested cancellation or speed-up is not signed',
        not_settled: 'a transaction has its confirmations but is not recorded as final',
        lease_expired: 'a process died while it held the partition of a lane',
        failed_jobs: 'jobs failed permanently',
        work_waiting: 'work other than transactions waits too long',
      },
    },
    {
      place: 60,
      kinds: {
        mpc_party_down: 'an mpc party sends no heartbeats',
        mpc_party_not_signing:
          'an mpc party signs nothing: its journal is damaged, or another process took its directory',
        mpc_old_shares: 'an mpc party has shares from before a refresh',
        mpc_party_banned: 'a party is banned from signing with a key',
        mpc_party_accused: 'two parties do not sign together with a key',
      },
    },
    {
      place: 80,
      kinds: {
        token_unreadable: 'the contract of a token cannot be read, so its balances are not updated',
      },
    },
  ],
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly operator: typeof operator
  }
}
