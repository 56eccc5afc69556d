/** Shared by all parts of a simulation: the constants of its service, and the world of one schedule. */
import type { RpcRequest } from '../../src/chain/json-rpc.ts'
import { Unavailable } from '../../src/core/errors.ts'
import type { GasRequest } from '../../src/transactions/estimate-gas.ts'
import type { TagKeys } from '../../src/transactions/tags.ts'
import type { Random } from '../support/load-random.ts'
import { type SimulatedChain, UNIT_WEI, type Wire } from './chain.ts'
import type { Hints } from './hints.ts'
import type { Mutant } from './mutants.ts'
import type { Queues } from './queues.ts'
import type { Scheduler } from './scheduler.ts'
import type { Store } from './store.ts'

export const CHAIN_ID = 1
export const CONFIRMATIONS = 3
export const LEASE_MS = 10_000
export const REBROADCAST_AFTER_MS = 30_000
export const REPLACE_AFTER_MS = 60_000
export const FEE_CAP_WEI = 3_000n * UNIT_WEI
export const MIN_TIP_WEI = UNIT_WEI
export const MAX_IN_FLIGHT = 3

export type World = {
  readonly random: Random
  readonly scheduler: Scheduler
  readonly store: Store
  readonly chain: SimulatedChain
  readonly queues: Queues
  readonly hints: Hints
  /** Passes at once of one process. */
  readonly atOnce: number
  readonly mutant: Mutant
  readonly lanes: readonly string[]
  readonly requests: number
  /** How many hashes the follower keeps. */
  readonly keptHashes: number
  /** Ids in order of acceptance. */
  readonly accepted: string[]
  /** Each once, as digits of the same number. */
  readonly newNumber: () => string
  /** The clock of the processes; it may jump. */
  readonly wallClock: () => number
  readonly databaseNow: () => number
  readonly faults: () => boolean
  readonly broken: (problem: string) => void
  readonly onSent: (wire: Wire) => void
  /** Whether bytes do not reach the node that a process sends them to. */
  readonly isLate: (wire: Wire) => boolean
  /** Called with what a node says to a process. */
  readonly onAnswer: (request: RpcRequest, value: unknown) => void
  /** What nodes say that a call needs. */
  readonly gasOf: (request: GasRequest) => bigint
  /** The keys of a signer that starts now. */
  readonly tagKeys: () => TagKeys
  /** Whether there is evidence that the database went back to before signatures had tags. */
  readonly untagged: () => boolean
}

/** Errors that production retries. Any other is a defect. */
export function isExpected(error: unknown): boolean {
  const codes = [
    'insufficient_funds',
    'stream_conflict',
    'fence_lost',
    'unique_rule_broken',
    'rpc_error',
    'already_mined',
    'already_failed',
    'pass_hangs',
  ]
  return error instanceof Unavailable || codes.includes((error as { code?: string }).code ?? '')
}
