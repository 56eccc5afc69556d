/**
 * What signers have for the lanes that they work on, beside what every process has. `compose/signer.ts` makes it once.
 * Types alone.
 */
import type { FeeQuote } from '../chain/fees.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { Context } from '../context.ts'
import type { OnUnstorable } from '../event-log/commit.ts'
import type { Signer } from '../keys/signer.ts'
import type { CheckRecorded, OnRefused } from './check-recorded.ts'
import type { CompareLane } from './compare-lane.ts'
import type { ExaminingChain } from './examine-waiting.ts'
import type { NeededGas } from './gas-budget.ts'
import type { Deferred, HeldLanes } from './held-lanes.ts'
import type { Lane, LaneReads } from './lanes.ts'
import type { TagKeys } from './tags.ts'

/** What a lane uses of its chain. */
export type LaneChain = ExaminingChain & {
  readonly settings: Pick<ChainSettings, 'network' | 'minTipWei' | 'maxFeePerGasWei'>
  readonly quote: () => Promise<FeeQuote>
  /** The gas that the bytes of a transaction lack by the rules of now. */
  readonly neededGas: NeededGas
  /** The gas limit of what moves nothing: a cancellation, or a filler of a gap. Never throws. */
  readonly emptyGas: (address: string) => Promise<bigint>
}

export type LaneContext = Pick<Context, 'log' | 'clock' | 'newId'> & {
  readonly config: Pick<
    Context['config'],
    /** How long bytes may stay unmined before their fee is bumped, and before gaps below them are filled. */
    'replaceAfterMs' | 'maxInFlightPerLane'
  >
  readonly logger: Pick<Context['logger'], 'warn'>
  readonly metrics: Pick<Context['metrics'], 'count'>
  readonly lanes: LaneReads
  readonly laneChainOf: (chainId: number) => LaneChain
  readonly signer: Pick<Signer, 'signTransactions'>
  readonly keys: TagKeys
  /** Whether a recorded transaction may be signed. */
  readonly check: CheckRecorded
  /** Compares the lane with the sender's transactions on nodes before the first signature. */
  readonly compare: CompareLane
  /** State of the process: forgotten when it ends. */
  readonly deferred: Deferred
  /** Records for operators and owners what no node could simulate. */
  readonly leftAlone: HeldLanes['leftAlone']
  /** The transaction count of the account in the newest processed block; `null` when no quorum says the same of it. */
  readonly countOf: (lane: Lane) => Promise<number | null>
  readonly onRefused: OnRefused
  /** Called for decisions that the database cannot store. */
  readonly onUnstorable: OnUnstorable
}
