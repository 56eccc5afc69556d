/** Findings: what is stuck and what to do about it. The kinds are stable: scripts and alarms use them. */

/** Every kind of finding, with a short description. */
export const FINDING_KINDS = {
  database_down: 'the database does not answer',
  queue_down: 'the job queue does not answer',
  node_down: 'no node of a chain answers',
  process_missing: 'no process of a kind gives a sign of life',
  process_silent: 'one of several processes of a kind has fallen silent',
  keystore_wrong: 'a signer does not have the seeds that made the wallets',
  nobody_leads: 'work that one process does at a time is done by none',
  transaction_open: 'a transaction, in any database of the server, is left open, and readers of the log wait for it',
  subscription_behind: 'events wait for the subscription that acts on them',
  follower_halted: 'a chain is not followed',
  follower_behind: 'the follower is far behind the head of its chain',
  lane_without_holder: 'requests wait to be signed and no signer holds their lane',
  lane_not_signing: 'a signer holds the lane and signs nothing',
  not_as_recorded: 'a request waits, and its row, its events or its wallet contradict each other',
  not_sent: 'signed bytes were not taken by a node',
  not_mined: 'a node has the bytes and no block takes them',
  fee_under_base: 'the base fee is above what the lowest nonce of a lane offers',
  fee_over_cap: 'the network asks more than the configured cap',
  awaiting_funds: 'the wallet cannot pay for what it has signed',
  nonce_gap: 'a nonce was given to nobody, and what comes after it cannot be mined',
  lane_held: 'nodes show more transactions of a lane than the log knows, and nothing new is signed there',
  nonce_taken: 'a nonce is used on chain by something that was not recorded',
  wish_not_done: 'a cancellation or a speed-up was asked for and is not signed',
  not_settled: 'deep enough in the chain, and not recorded as final',
  lease_expired: 'a process died while it held a lane',
  failed_jobs: 'jobs were given up',
  work_waiting: 'something other than a transaction waits too long',
  mpc_party_down: 'a party of the joint keys gives no sign of life',
  mpc_party_banned: 'a party may not sign with a key',
  mpc_party_accused: 'two parties do not sign together with a key',
  metadata_unpinned: 'metadata is not on IPFS',
  token_unreadable: 'the contract of a token cannot be read, so it is left out',
} as const
export type FindingKind = keyof typeof FINDING_KINDS

/** A suggested action, best first. `run` can be pasted into a shell. */
export type NextStep = { readonly say: string; readonly run: string | null }

export type Finding = {
  readonly kind: FindingKind
  /** The subject: `ethereum 0x…`, `queue lane`, `signer`. */
  readonly subject: string
  /** A full sentence with figures. */
  readonly problem: string
  /** How long the problem has existed, if known. */
  readonly forMs: number | null
  /** At least one. */
  readonly next: readonly NextStep[]
}

export function step(say: string, run: string | null = null): NextStep {
  return { say, run }
}

/** The JSON form of a finding. */
export function findingJson({ kind, subject, problem, forMs, next }: Finding) {
  return { kind, subject, problem, for_ms: forMs === null ? null : Math.round(forMs), next }
}
